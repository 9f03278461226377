package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.HeldLock;
import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtLock;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcServer;
import dev.lite.local.LocalCluster;
import dev.lite.local.LocalProcess;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/**
 * Faults under a checked workload with real processes: a ZooKeeper, two managers, three nodes, and three Spring applications, each
 * with its own node. Run it with {@code mvn -Pfaults verify}; it prints one line per fault. No effect may be lost or wrong.
 */
@Tag("faults")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class FaultsTest extends FaultSuite {
    private static final Duration SESSION_TIMEOUT = Waits.seconds(3);
    /** The deadline of a call to a function that does not answer. */
    private static final Duration HUNG_CALL = Waits.seconds(0.02);

    private static final int RESTARTS = Integer.getInteger("lite.faults.restarts", 30);

    private static final Path LOGS = Path.of(System.getProperty("lite.system.logs"), "FaultsTest");
    private static final FaultReport REPORT = new FaultReport(SESSION_TIMEOUT);

    private static @Nullable SmallDisk disk;
    private static ZooKeepers zooKeeper;
    private static LocalCluster cluster;
    private static Applications applications;
    private static Workload workload;

    FaultsTest() {
        super(REPORT);
    }

    @Override
    Workload workload() {
        return workload;
    }

    @BeforeAll
    static void start() throws IOException {
        System.out.printf("seed %d, fabric %s%n", SEED, FABRICS);
        Path data = Files.createTempDirectory(Files.createDirectories(LOGS), "zookeeper");
        Optional<String> noDisk = SmallDisk.unavailable();
        if (noDisk.isEmpty()) {
            disk = SmallDisk.mount(Files.createDirectories(data.resolve("zookeeper-1")));
        }
        zooKeeper = ZooKeepers.start(data, 1);
        cluster = Clusters.builder("FaultsTest")
                .zookeeper(zooKeeper.connectString())
                .property("lite.cluster.session-timeout", SESSION_TIMEOUT.toMillis() + "ms")
                .property("lite.cluster.auth.password", "the password of the fault suite")
                .nodes(NODES)
                .fabrics(FABRICS.split(","))
                .nodeProperty("lite.node.deadline", DEADLINE.toMillis() + "ms")
                .nodeProperty("lite.node.tcp.peer-timeout", SESSION_TIMEOUT.toMillis() + "ms")
                .retainArenas(true)
                .stopDeadline(Waits.seconds(60))
                .build();
        cluster.startManager(1);
        cluster.startManager(2);
        cluster.startNodes();
        applications = new Applications();
        workload =
                new Workload(SEED, NODES, node -> applications.start(cluster.socket(node), DEADLINE), DEADLINE, true);
        workload.start();
    }

    @AfterAll
    static void stop() throws IOException {
        end(workload, REPORT, applications, cluster, zooKeeper, disk);
    }

    @Override
    void repair() {
        if (!zooKeeper.isAlive(1)) {
            zooKeeper.startAll();
        }
        for (int manager = 1; manager <= 2; manager++) {
            if (!cluster.manager(manager).isAlive()) {
                cluster.startManager(manager);
            }
        }
        cluster.startNodes();
        awaitWhole();
    }

    private static void awaitWhole() {
        awaitConnections(cluster);
        for (int node = 1; node <= NODES; node++) {
            try (Lite lite = Clusters.attach(cluster, node)) {
                Waits.until("the directory answers", SOON, () -> directoryAnswers(lite));
            }
        }
    }

    private static boolean directoryAnswers(Lite lite) {
        try {
            throw new AssertionError(lite.memory().map("faults/nothing", Permission.READ) + " is not expected");
        } catch (LmrNotFoundException e) {
            return true;
        } catch (ClusterUnavailableException e) {
            return false;
        }
    }

    @Test
    void theApplicationThatHoldsTheLockIsKilled() throws IOException {
        Process holder = LockHolder.start(LockHolder.class, cluster.socket(2).toString(), Workload.LOCK);
        try {
            long token = LockHolder.awaitToken(holder);
            assertThat(workload.books().newestToken())
                    .as("while the lock is held")
                    .isLessThan(token);
            holder.destroyForcibly();
            Duration locks = workload.awaitLocks(SOON, 1, 2, 3);
            assertThat(workload.books().newestToken())
                    .as("the next holder's token")
                    .isGreaterThan(token);
            over(locks);
        } finally {
            holder.destroyForcibly();
        }
    }

    @Test
    void theLeadingManagerIsKilled() {
        int leader = leader();
        cluster.killManager(leader);
        over(null);
        Waits.until("the other manager leads", SOON, () -> leads(3 - leader));
        cluster.startManager(leader);
    }

    @Test
    void theLeadingManagerIsPaused() {
        int leader = leader();
        cluster.manager(leader).pause();
        try {
            Waits.until("the other manager leads", SOON, () -> leads(3 - leader));
        } finally {
            cluster.manager(leader).resume();
        }
        over(null);
        Waits.until("one manager leads", SOON, () -> leads(1) != leads(2));
    }

    private static int leader() {
        Waits.until("one manager leads", SOON, () -> leads(1) != leads(2));
        return leads(1) ? 1 : 2;
    }

    private static boolean leads(int manager) {
        return Health.of(cluster.manager(manager)).contains("\"leader\":true");
    }

    /** Runs early: nodes that leave move the lock's word elsewhere, and a lock whose word is on a killed node waits for that node. */
    @Test
    @Order(1)
    void aNodeIsKilled() {
        cluster.kill(2);
        Duration locks = workload.awaitLocks(SOON, 1, 3);
        cluster.startNode(2);
        over(locks);
    }

    @Test
    @Order(3)
    void theHomeOfTheLocksIsKilled() {
        cluster.kill(1);
        cluster.startNode(1);
        over(null);
    }

    @Test
    void allNodesAreKilledAtOnce() {
        for (int node = 1; node <= NODES; node++) {
            cluster.kill(node);
        }
        cluster.startNodes();
        over(null);
    }

    @Test
    @Order(2)
    void aNodeIsPausedForLong() {
        LocalProcess node = cluster.node(3);
        Duration locks;
        try {
            workload.insideLock(3, SOON, node::pause);
            locks = workload.awaitLocks(SOON, 1, 2);
            Waits.pass(SESSION_TIMEOUT.multipliedBy(2));
        } finally {
            node.resume();
        }
        over(locks);
    }

    /** Only the node is paused; its application keeps running. It must not write under a lock that another session holds. */
    @Test
    void theNodeOfAnAttachedLockHolderIsFenced() {
        try (Lite other = Clusters.attach(cluster, 1);
                Lite holder = Clusters.attach(cluster, 3)) {
            LmrHandle guarded = other.memory()
                    .malloc(LmrSpec.of(Long.BYTES)
                            .withName("faults/guarded")
                            .withPlacement(Placement.on("node-1"))
                            .withDefaultPermissions(Permission.READ, Permission.ATOMIC));
            LmrHandle atHolder = holder.memory().map("faults/guarded", Permission.ATOMIC);
            String name = "faults/fenced-holder";
            LtLock lock = other.sync().lock(name);
            lock.acquire(SOON).close(); // its home is node-1
            HeldLock lost = holder.sync().lock(name).acquire(SOON);
            assertThat(atHolder.fetchAdd(0, 1)).isZero();
            AtomicReference<HeldLock> next = new AtomicReference<>();
            Duration passedOn = whileHolderIsPaused(() -> next.set(lock.acquire(SOON)), () -> {});
            try (HeldLock held = next.get()) {
                assertThat(held.fencingToken()).isGreaterThan(lost.fencingToken());
                awaitLost(lost);
                assertThatThrownBy(() -> atHolder.fetchAdd(0, 1)).isInstanceOf(LmrUnavailableException.class);
                assertThat(guarded.fetchAdd(0, 0)).as("additions").isOne();
                lost.close();
                assertThat(held.isHeld()).isTrue();
            }
            assertThat(atHolder.fetchAdd(0, 1)).isOne();
            guarded.free();
            over(passedOn);
        }
    }

    @Test
    void theNodeOfALockHolderIsFencedWhileOthersOnlyTry() {
        try (Lite first = Clusters.attach(cluster, 1);
                Lite second = Clusters.attach(cluster, 2);
                Lite holder = Clusters.attach(cluster, 3)) {
            String name = "faults/only-tried";
            LtLock atHome = first.sync().lock(name);
            LtLock elsewhere = second.sync().lock(name);
            HeldLock lost = holder.sync().lock(name).tryAcquire().orElseThrow();
            long token = lost.fencingToken();
            Duration passedOn = whileHolderIsPaused(
                    () -> Waits.until("a try elsewhere takes it", SOON, () -> takesByTry(elsewhere, token)),
                    () -> Waits.until("a try at its home takes it", SOON, () -> takesByTry(atHome, token)));
            awaitLost(lost);
            lost.close();
            over(passedOn);
        }
    }

    /**
     * Pauses node 3, which holds a lock, during two steps.
     *
     * @return how long the first step took, which gets the lock
     */
    private static Duration whileHolderIsPaused(Runnable takeOver, Runnable then) {
        LocalProcess node = cluster.node(3);
        node.pause();
        try {
            long pausedNs = System.nanoTime();
            takeOver.run();
            Duration passedOn = Duration.ofNanos(System.nanoTime() - pausedNs);
            then.run();
            return passedOn;
        } finally {
            node.resume();
        }
    }

    private static void awaitLost(HeldLock held) {
        Waits.until("the holder learns that the lock is lost", SOON, () -> !held.isHeld());
    }

    private static boolean takesByTry(LtLock lock, long formerToken) {
        Optional<HeldLock> held = lock.tryAcquire();
        held.ifPresent(now -> {
            assertThat(now.fencingToken()).isGreaterThan(formerToken);
            now.close();
        });
        return held.isPresent();
    }

    /** A function that answers nobody takes slots of its own share only: other calls to and from its node go on. */
    @Test
    void aFunctionHangs() throws InterruptedException {
        int callers = 4;
        int callsEach = 150; // more than the share of a function, and together more than all slots of one size
        CountDownLatch end = new CountDownLatch(1);
        try (Lite server = Clusters.attach(cluster, 2);
                Lite client = Clusters.attach(cluster, 1)) {
            RpcServer hangs = server.rpc().register("faults/hangs", 2, call -> answerAfter(end, call));
            RpcServer works = server.rpc().register("faults/works", 1, RpcCall::request);
            ConcurrentLinkedQueue<String> wrong = new ConcurrentLinkedQueue<>();
            List<Thread> threads = new ArrayList<>();
            for (int caller = 0; caller < callers; caller++) {
                threads.add(Thread.ofPlatform().start(() -> {
                    for (int call = 0; call < callsEach; call++) {
                        try {
                            byte[] unused = client.rpc().call("node-2", "faults/hangs", new byte[100], HUNG_CALL);
                            wrong.add("a function that hangs has answered");
                        } catch (LiteTimeoutException | LimitExceededException e) {
                            // expected: no answer, or its share is used up
                        } catch (RuntimeException e) {
                            wrong.add(e.toString());
                        }
                    }
                }));
            }
            var unused = workload.awaitRound(SOON);
            while (threads.stream().anyMatch(Thread::isAlive)) {
                byte[] request = new byte[3000];
                assertThat(client.rpc().call("node-2", "faults/works", request, DEADLINE))
                        .hasSize(request.length);
                Waits.pass(Duration.ofMillis(5));
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertThat(wrong).isEmpty();
            end.countDown();
            Waits.until("the function answers again", SOON, () -> {
                try {
                    return client.rpc().call("node-2", "faults/hangs", new byte[1], HUNG_CALL).length == 1;
                } catch (LiteTimeoutException | LimitExceededException e) {
                    return false; // earlier calls wait before it, or their slots have not come back
                }
            });
            hangs.close();
            works.close();
        } finally {
            end.countDown();
        }
        over(null);
    }

    private static MemorySegment answerAfter(CountDownLatch end, RpcCall call) {
        try {
            end.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the test ends
        }
        return call.request();
    }

    @Test
    void zooKeeperIsKilled() {
        zooKeeper.kill(1);
        Waits.pass(SESSION_TIMEOUT.multipliedBy(3));
        zooKeeper.startAll();
        over(null);
        awaitWhole();
    }

    @Test
    void zooKeeperIsPausedForLong() {
        zooKeeper.signal("STOP");
        try {
            Waits.pass(SESSION_TIMEOUT.multipliedBy(3));
        } finally {
            zooKeeper.signal("CONT");
        }
        over(null);
        awaitWhole();
    }

    @Test
    void theDiskOfZooKeeperIsFull() throws IOException {
        SmallDisk full = disk;
        assumeTrue(full != null, () -> "skipped: " + SmallDisk.unavailable().orElse(""));
        full.fill();
        try (Lite lite = Clusters.attach(cluster, 2)) {
            // Creates names until ZooKeeper cannot write any more and ends.
            Waits.until("ZooKeeper ends", SOON, () -> {
                NameMaker.tryOne(lite);
                return !zooKeeper.isAlive(1);
            });
            Waits.pass(SESSION_TIMEOUT);
            assertThat(NameMaker.tryOne(lite))
                    .as("creating a name without ZooKeeper")
                    .isFalse();
        } finally {
            full.clear();
        }
        zooKeeper.startAll();
        over(null);
        awaitWhole();
    }

    @Test
    @Order(Integer.MAX_VALUE)
    void everyNodeIsRestartedInTurnRepeatedly() {
        for (int restart = 0; restart < RESTARTS; restart++) {
            int node = restart % NODES + 1;
            assertThat(cluster.stop(node)).as("node-%d ends by itself", node).isTrue();
            cluster.startNode(node);
            var unused = workload.awaitRound(SOON);
            FaultReport.requireRight(workload);
        }
        nameFault("%s (%d)".formatted("rolling restarts", RESTARTS));
        over(null);
    }
}

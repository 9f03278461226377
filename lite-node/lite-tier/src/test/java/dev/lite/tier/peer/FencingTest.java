package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtLock;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.Epoch;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.NodeRecord;
import dev.lite.cluster.VersionedRecord;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.session.SessionServer;
import dev.lite.tier.session.SessionServerConfig;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A node that was removed from the cluster although its process still runs, and its locks and LMRs. */
class FencingTest {
    private static final Permission[] ALL = {Permission.READ, Permission.WRITE, Permission.ATOMIC};

    @TempDir(factory = InDevShm.class)
    Path root;

    private @Nullable TestCluster opened;

    private TestCluster cluster(FabricProvider provider) {
        TestCluster cluster = new TestCluster(root, provider, Waits.seconds(5));
        opened = cluster;
        return cluster.start(3);
    }

    @AfterEach
    void close() {
        if (opened != null) {
            opened.close();
        }
    }

    /** The directory treats n2 as dead, and n2 does not learn of it. */
    private static void remove(TestCluster cluster) {
        cluster.directory(2).setAvailable(false);
        cluster.directory(2).expireSession();
    }

    private static void awaitFenced(TestCluster cluster) {
        long incarnation = cluster.node(2).self().incarnation();
        Waits.until("n2 is fenced", () -> cluster.directory(0).epoch().isFenced(2, incarnation));
    }

    private static boolean isConnected(TestCluster cluster, int from, String to) {
        return cluster.node(from).nodes().stream()
                .anyMatch(node -> node.name().equals(to) && !node.fabric().equals("none"));
    }

    @Test
    void aRemovedNodeReachesNoOtherIsFencedAndRejoinsByItself() {
        TestCluster cluster = cluster(new TcpFabricProvider());
        LmrHandle handle = cluster.attach(0)
                .memory()
                .malloc(LmrSpec.of(4096)
                        .withName("x")
                        .withPlacement(Placement.local())
                        .withDefaultPermissions(ALL));
        LmrHandle removed = cluster.attach(2).memory().map("x", Permission.ATOMIC, Permission.READ);
        removed.fetchAdd(0, 1);
        long before = cluster.node(2).self().incarnation();

        remove(cluster);
        awaitFenced(cluster);

        assertThatThrownBy(() -> removed.fetchAdd(0, 1_000_000)).isInstanceOf(LiteException.class);
        assertThat(handle.fetchAdd(0, 0)).isEqualTo(1);

        cluster.directory(2).setAvailable(true);

        Waits.until("n2 is a member again", () -> cluster.node(2).self().incarnation() > before);
        removed.fetchAdd(0, 1);
        assertThat(handle.fetchAdd(0, 0)).isEqualTo(2);
        handle.free();
    }

    /** Its process may be paused for longer than its session lives. Without its acknowledgements nobody would ever be fenced. */
    @Test
    void aNodeWhoseFirstRegistrationIsLostWhileItStartsTakesPartUnderTheNextOne() {
        TestCluster cluster = cluster(new TcpFabricProvider());

        LiteNode late = cluster.start(cluster.config("n3"), FencingTest::losingTheFirstRegistration);

        Waits.until(
                "it knows its registration", () -> cluster.directory(0).nodes().contains(late.self()));
        cluster.awaitConnections();
        remove(cluster);
        awaitFenced(cluster);
    }

    private static ClusterDirectory losingTheFirstRegistration(InMemoryDirectory directory) {
        InvocationHandler handler = (seen, method, arguments) -> {
            Object answer = method.invoke(directory, arguments);
            if (answer instanceof NodeRecord first) {
                directory.expireSession();
                Waits.until(
                        "it is registered again",
                        () -> directory.nodesNow(Duration.ZERO).stream()
                                .anyMatch(now -> now.id() == first.id() && now.incarnation() > first.incarnation()));
            }
            return answer;
        };
        return (ClusterDirectory) Proxy.newProxyInstance(
                ClusterDirectory.class.getClassLoader(), new Class<?>[] {ClusterDirectory.class}, handler);
    }

    /** Nobody asks a removed node whether its links are cut, so the others may fence a node that still reaches it. */
    @Test
    void aRemovedNodeTakesNoNodeForFencedBeforeItsOwnLinkToThatNodeIsCut() {
        SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(1));
        TestCluster cluster = cluster(network.provider());
        Fencing removed = Inside.field(cluster.node(1), "fencing", Fencing.class);
        NodeRecord other = cluster.node(0).self();
        Epoch now = cluster.directory(1).epoch();
        long number = now.number() + 1;
        network.pause("n1"); // so that it does not hear of the end of its link

        removed.epochChanged(new Epoch(
                number,
                now.members().stream()
                        .filter(member -> member.name().equals("n2"))
                        .toList(),
                List.of(
                        new Epoch.Removal(other.id(), "n0", other.incarnation(), number, true),
                        new Epoch.Removal(
                                cluster.node(1).self().id(),
                                "n1",
                                cluster.node(1).self().incarnation(),
                                number,
                                true))));

        assertThat(removed.isFenced(other.id(), other.incarnation())).isFalse();
        network.resume("n1");
        Waits.until("its link is cut", () -> removed.isFenced(other.id(), other.incarnation()));
    }

    /** Until the links know of a removal, they admit the removed process. */
    @Test
    void noProcessIsCutOffBeforeTheLinksKnowOfItsRemoval() {
        TestCluster cluster = cluster(new ShmFabricProvider());
        PeerLinks links = Inside.field(cluster.node(0), "links", PeerLinks.class);
        Epoch now = cluster.directory(0).epoch();
        Epoch next = new Epoch(
                now.number() + 1, now.members(), List.of(new Epoch.Removal(7, "n7", 1, now.number() + 1, true)));

        assertThat(links.isCutFrom(7, next)).isFalse();

        links.setEpoch(next);
        assertThat(links.isCutFrom(7, next)).isTrue();
    }

    /** Its session ended and began again between two looks of the directory. */
    @Test
    void aNodeThatLearnsOfItsNextRegistrationWithoutTheLossOfTheLastOneRejoins() {
        TestCluster cluster = cluster(new ShmFabricProvider());
        LmrHandle handle = cluster.attach(2).memory().malloc(LmrSpec.of(64).withPlacement(Placement.on("n0")));
        Fencing fencing = Inside.field(cluster.node(2), "fencing", Fencing.class);

        fencing.registeredAgain(cluster.node(2).self());

        Waits.until("it has rejoined", () -> !fencing.isLost());
        cluster.awaitConnections();
        assertThat(handle.fetchAdd(0, 1)).isZero();
    }

    @Test
    void aLockOfAFencedNodeIsPassedOnAndItsHolderLearnsThatItIsLost() {
        TestCluster cluster = cluster(new TcpFabricProvider());
        Lite waiter = cluster.attach(0);
        waiter.sync().lock("a").acquire(Waits.seconds(5)).close(); // its home is n0
        HeldLock lost = cluster.attach(2).sync().lock("a").acquire(Waits.seconds(5));
        cluster.store().setKeeper(false);
        remove(cluster);
        assertThatThrownBy(() -> waiter.sync().lock("a").acquire(Waits.seconds(1)))
                .as("without a manager, no node is fenced")
                .isInstanceOf(LiteTimeoutException.class);

        cluster.store().setKeeper(true);

        try (HeldLock held = waiter.sync().lock("a").acquire(Waits.seconds(10))) {
            assertThat(held.fencingToken()).isGreaterThan(lost.fencingToken());
            assertThat(cluster.directory(0).epoch().isFenced(2, 1)).isTrue();
            cluster.directory(2).setAvailable(true);
            Waits.until("its holder learns of it", () -> !lost.isHeld());
            lost.close();
            assertThat(held.isHeld()).isTrue();
        }
        Waits.until("n2 is connected again", () -> isConnected(cluster, 0, "n2"));
        cluster.attach(2).sync().lock("a").acquire(Waits.seconds(10)).close();
    }

    @Test
    void anAttachedHolderOfAFencedNodeLearnsOfItAndItsOperationsAreRefusedUntilItClosesTheLock() {
        TestCluster cluster = cluster(new TcpFabricProvider());
        Lite waiter = cluster.attach(0);
        LmrHandle guarded = waiter.memory().malloc(LmrSpec.of(8).withName("x").withDefaultPermissions(ALL));
        LtLock contended = waiter.sync().lock("a"); // its home is n0
        SessionServer server = new SessionServer(SessionServerConfig.of(root.resolve("n2.sock")), cluster.node(2));
        server.start();
        try (server;
                Lite attached = Lite.attach(AttachOptions.to(server.socket(), "app"))) {
            LmrHandle handle = attached.memory().map("x", Set.of(ALL));
            LtLock lock = attached.sync().lock("a");
            HeldLock lost = lock.acquire(Waits.seconds(5));
            HeldLock lostByTry = attached.sync().lock("b").tryAcquire().orElseThrow();
            long before = cluster.node(2).self().incarnation();
            remove(cluster);
            HeldLock held = contended.acquire(Waits.seconds(20));
            cluster.directory(2).setAvailable(true);
            Waits.until("n2 is a member again", () -> cluster.node(2).self().incarnation() > before);
            Waits.until("its holder learns of it", () -> !lost.isHeld() && !lostByTry.isHeld());

            for (ThrowingCallable operation : List.<ThrowingCallable>of(
                    () -> handle.write(0, new byte[8]),
                    () -> handle.fetchAdd(0, 1),
                    () -> handle.memset(0, 8, (byte) 1),
                    () -> lock.tryAcquire(),
                    handle::free)) {
                assertThatThrownBy(operation)
                        .isInstanceOf(LmrUnavailableException.class)
                        .hasMessageContaining("close the lock");
            }
            assertThat(guarded.fetchAdd(0, 0)).as("nothing landed").isZero();
            lost.close();
            assertThatThrownBy(() -> handle.fetchAdd(0, 1)).isInstanceOf(LmrUnavailableException.class);
            lostByTry.close();

            handle.fetchAdd(0, 1);
            assertThat(held.isHeld()).isTrue();
            held.close();
            try (HeldLock again = lock.acquire(Waits.seconds(10))) {
                assertThat(again.isHeld()).isTrue();
                assertThat(again.fencingToken()).isGreaterThan(held.fencingToken());
            }
        }
    }

    @Test
    void aLockThatIsOnlyTriedIsFreeAgainAfterItsHolderWasFenced() {
        TestCluster cluster = cluster(new TcpFabricProvider());
        LtLock tried = cluster.attach(0).sync().lock("a"); // its home is n0
        LtLock triedElsewhere = cluster.attach(1).sync().lock("a");
        HeldLock lost = cluster.attach(2).sync().lock("a").tryAcquire().orElseThrow();
        assertThat(tried.tryAcquire()).isEmpty();
        remove(cluster);
        awaitFenced(cluster);

        Waits.until("a try at the home acquires it", () -> acquires(tried));
        Waits.until("a try at another node acquires it", () -> acquires(triedElsewhere));
        assertThat(tried.acquire(Waits.seconds(5)).fencingToken()).isGreaterThan(lost.fencingToken());
    }

    @Test
    void aLockThatIsOnlyTriedAtAnotherNodeIsFreeAgainAfterItsHolderWasFenced() {
        TestCluster cluster = cluster(new TcpFabricProvider());
        cluster.attach(0).sync().lock("a"); // its home is n0
        LtLock tried = cluster.attach(1).sync().lock("a");
        HeldLock unused = cluster.attach(2).sync().lock("a").tryAcquire().orElseThrow();
        remove(cluster);
        awaitFenced(cluster);

        Waits.until("a try acquires it", () -> acquires(tried));
    }

    private static boolean acquires(LtLock lock) {
        Optional<HeldLock> tried = lock.tryAcquire();
        tried.ifPresent(HeldLock::close);
        return tried.isPresent();
    }

    @Test
    void anLmrThatAFencedNodeStartedToFreeIsFreedByAnotherNode() {
        TestCluster cluster = cluster(new TcpFabricProvider());
        long[] before = {
            cluster.node(0).figures().usage().allocatedBytes(),
            cluster.node(1).figures().usage().allocatedBytes()
        };
        cluster.attach(2)
                .memory()
                .malloc(LmrSpec.of(100_000).withName("x").withPlacement(Placement.on(List.of("n0", "n1"))));
        InMemoryDirectory directory = cluster.directory(0);
        VersionedRecord record = directory.read("x", Waits.seconds(5)).orElseThrow();
        LmrRecord freeing = LmrRecord.decode(record.bytes()).withState(LmrRecord.State.FREEING);
        // Simulates that it died at this point.
        assertThat(directory.compareAndSet("x", record.version(), freeing.encode(), Waits.seconds(5)))
                .isPresent();

        cluster.stop("n2");

        Waits.until(
                "its record is gone",
                () -> directory.read("x", Waits.seconds(5)).isEmpty());
        assertThat(cluster.node(0).figures().usage().allocatedBytes()).isEqualTo(before[0]);
        assertThat(cluster.node(1).figures().usage().allocatedBytes()).isEqualTo(before[1]);
    }

    @Test
    void lmrsOfALostNodeAreUnavailableUntilItsRestartAndOthersStillWork() {
        TestCluster cluster = cluster(new TcpFabricProvider());
        LiteNode shortDeadline = cluster.start(cluster.withDeadline("n3", Waits.seconds(1)));
        cluster.awaitConnections();
        Lite lite = shortDeadline.attach("app");
        LmrHandle spread = lite.memory()
                .malloc(LmrSpec.of(8 << 20)
                        .withName("spread")
                        .withPlacement(Placement.on(List.of("n0", "n2")))
                        .withDefaultPermissions(ALL));
        long there = spread.extents().stream()
                .filter(extent -> extent.node().equals("n2"))
                .findFirst()
                .orElseThrow()
                .offset();
        long here = there == 0 ? 4 << 20 : 0;
        spread.fetchAdd(there, 41);
        try (Lite atLost = cluster.attach(2)) {
            atLost.sync().lock("there").acquire(Waits.seconds(5)).close(); // n2 is the home of its word
        }
        LtLock lock = lite.sync().lock("there");

        cluster.stop("n2");

        Waits.until("the others know that it is gone", () -> !isConnected(cluster, 3, "n2"));
        assertUnavailable(() -> spread.read(there, new byte[8]));
        assertUnavailable(() -> spread.write(there, new byte[8]));
        assertUnavailable(() -> spread.fetchAdd(there, 1));
        assertUnavailable(() -> spread.testSet(there, 0, 1));
        assertUnavailable(() -> spread.memset(0, 8 << 20, (byte) 0));
        assertUnavailable(() -> lock.acquire(Waits.seconds(1)));
        assertThat(spread.fetchAdd(here, 1)).isZero();

        cluster.start("n2");

        cluster.awaitConnections();
        assertThat(spread.fetchAdd(there, 1)).isEqualTo(41);
        lock.acquire(Waits.seconds(5)).close();
        spread.free();
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "shm"})
    void anLmrCanBeMappedWhileANodeOfItIsAway(String fabric) {
        TestCluster cluster = cluster(fabric.equals("tcp") ? new TcpFabricProvider() : new ShmFabricProvider());
        LiteNode shortDeadline = cluster.start(cluster.withDeadline("n3", Waits.seconds(1)));
        cluster.awaitConnections();
        LmrHandle created = cluster.attach(0)
                .memory()
                .malloc(LmrSpec.of(8 << 20)
                        .withName("spread")
                        .withPlacement(Placement.on(List.of("n0", "n2")))
                        .withDefaultPermissions(ALL));
        created.fetchAdd(0, 41);
        long there = created.extents().stream()
                .filter(extent -> extent.node().equals("n2"))
                .findFirst()
                .orElseThrow()
                .offset();
        long here = there == 0 ? 4 << 20 : 0;
        cluster.stop("n2");
        Waits.until("the others know that it is gone", () -> !isConnected(cluster, 3, "n2"));

        LmrHandle mapped = shortDeadline.attach("app").memory().map("spread", Permission.READ, Permission.ATOMIC);

        mapped.read(here, new byte[8]);
        // n3 may have connected once more while n2 closed, and not have noticed the end of that connection yet.
        Waits.until("the memory is away", () -> isUnavailable(() -> mapped.read(there, new byte[8])));
        assertUnavailable(() -> mapped.read(there, new byte[8]));
        assertUnavailable(() -> mapped.fetchAdd(there, 1));

        cluster.start("n2");

        cluster.awaitConnections();
        assertThat(mapped.fetchAdd(0, 1)).isEqualTo(41);
        assertThat(mapped.fetchAdd(there, 1)).isEqualTo(there == 0 ? 42 : 0);
        mapped.read(there, new byte[8]);
    }

    @Test
    void readsAndWritesDuringARestartOfANodeContinueAfterIt() {
        TestCluster cluster = cluster(new TcpFabricProvider());
        LmrHandle handle = cluster.attach(0).memory().malloc(LmrSpec.of(1 << 20).withPlacement(Placement.on("n2")));
        AtomicBoolean stop = new AtomicBoolean();
        AtomicLong rounds = new AtomicLong();
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        Thread worker = Thread.ofPlatform().daemon().start(() -> {
            byte[] bytes = new byte[200_000];
            byte[] found = new byte[bytes.length];
            try {
                while (!stop.get()) {
                    new Random(rounds.get()).nextBytes(bytes);
                    handle.write(0, bytes);
                    handle.read(0, found);
                    assertThat(Arrays.equals(found, bytes)).isTrue();
                    rounds.incrementAndGet();
                }
            } catch (RuntimeException | AssertionError e) {
                failure.set(e);
            }
        });
        for (int restart = 0; restart < 3; restart++) {
            awaitRounds(rounds);
            cluster.stop("n2");
            cluster.start("n2");
            awaitRounds(rounds);
        }
        stop.set(true);
        Waits.join(worker);
        assertThat(failure.get()).isNull();
    }

    @Test
    void theMemoryOfANodeThatIsAwayForLongIsUnavailableAtOnceUntilItReturns() {
        TestCluster cluster = cluster(new TcpFabricProvider());
        LmrHandle handle = cluster.attach(0).memory().malloc(LmrSpec.of(64).withPlacement(Placement.on("n2")));
        handle.putLong(0, 7);
        cluster.node(0).setReturnGrace(Duration.ofMillis(1));
        cluster.stop("n2");
        Waits.until("the operation fails at once", () -> {
            try {
                handle.getLong(0);
                return false;
            } catch (LmrUnavailableException e) {
                return String.valueOf(e.getMessage())
                        .contains("node n2 is lost, and its memory until it restarts; it left");
            }
        });
        cluster.start("n2");
        Waits.until("the memory is available again", () -> {
            try {
                return handle.getLong(0) == 7;
            } catch (LmrUnavailableException e) {
                return false;
            }
        });
    }

    private static void awaitRounds(AtomicLong rounds) {
        long before = rounds.get();
        Waits.until("the worker continues", () -> rounds.get() > before + 10);
    }

    private static boolean isUnavailable(ThrowingCallable operation) {
        return catchThrowable(operation) instanceof LmrUnavailableException;
    }

    private static void assertUnavailable(ThrowingCallable operation) {
        assertThatThrownBy(operation)
                .isInstanceOf(LmrUnavailableException.class)
                .hasMessageContaining("node n2 is lost");
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "shm"})
    void aNodeThatBrieflyLosesItsSessionCutsItsLinksRejoinsAndKeepsItsHandles(String fabric) {
        TestCluster cluster = cluster(fabric.equals("tcp") ? new TcpFabricProvider() : new ShmFabricProvider());
        LmrHandle own = cluster.attach(2)
                .memory()
                .malloc(LmrSpec.of(100_000).withPlacement(Placement.spread()).withDefaultPermissions(ALL));
        LmrHandle other = cluster.attach(0).memory().map(own.id(), Permission.ATOMIC);
        for (int round = 1; round <= 3; round++) {
            long before = cluster.node(2).self().incarnation();

            cluster.directory(2).expireSession();

            Waits.until("n2 is registered again", () -> cluster.node(2).self().incarnation() > before);
            own.fetchAdd(0, 1);
            other.fetchAdd(0, 1);
            assertThat(own.fetchAdd(0, 0)).isEqualTo(2L * round);
            Waits.until("its former registration is fenced", () -> {
                Epoch epoch = cluster.directory(0).epoch();
                return epoch.isFenced(2, before) && epoch.pending().isEmpty();
            });
        }
        own.free();
    }
}

package dev.lite.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.NodeUnreachableException;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The contract, and what only a real ZooKeeper can do. One server for all tests, one cluster name for each. */
class CuratorDirectoryTest extends ClusterDirectoryContract {
    private static final Duration SESSION_TIMEOUT = Waits.seconds(5);

    /** For tests that wait for it to pass. */
    private static final Duration SHORT_SESSION_TIMEOUT = Waits.scaled(Duration.ofMillis(1500));

    private static final AtomicInteger CLUSTERS = new AtomicInteger();

    @TempDir
    static Path directory;

    private static RealZooKeeper zooKeeper;

    private final String cluster = "test-" + CLUSTERS.incrementAndGet();

    @BeforeAll
    static void startZooKeeper() {
        zooKeeper = new RealZooKeeper(directory);
    }

    @AfterAll
    static void stopZooKeeper() {
        zooKeeper.close();
    }

    @Override
    ClusterDirectory openSession() {
        return openSession(SESSION_TIMEOUT);
    }

    private CuratorDirectory openSession(Duration timeout) {
        return CuratorDirectory.open(new CuratorConfig(zooKeeper.connectString(), cluster, timeout, Waits.seconds(1)));
    }

    @Override
    public void stopDirectory() {
        zooKeeper.stop();
    }

    @Override
    public void startDirectory() {
        zooKeeper.start();
    }

    /** A second connection with the session's own number and password ends it: the server says "expired" to the first. */
    @Override
    public void expire(ClusterDirectory session) {
        try {
            ZooKeeper mine = ((CuratorDirectory) session)
                    .session()
                    .client()
                    .getZookeeperClient()
                    .getZooKeeper();
            ZooKeeper second = new ZooKeeper(
                    zooKeeper.connectString(),
                    (int) SESSION_TIMEOUT.toMillis(),
                    event -> {},
                    mine.getSessionId(),
                    mine.getSessionPasswd());
            Waits.until("the second connection", () -> second.getState() == ZooKeeper.States.CONNECTED);
            second.close();
        } catch (Exception e) { // declared by Curator
            throw new AssertionError("the session could not be ended", e);
        }
    }

    @Override
    Runnable startKeeper() {
        CuratorDirectory manager = openSession(SESSION_TIMEOUT);
        Leadership leadership = manager.leadership("keeper");
        EpochKeeping keeping = manager.keepEpochs(leadership);
        return () -> {
            keeping.close();
            leadership.close();
            manager.close();
        };
    }

    private CuratorDirectory curator() {
        return (CuratorDirectory) open();
    }

    @Test
    void theRegistrationOfAKilledProcessIsWaitedForAndThatOfALiveOneIsNot() throws IOException {
        Process process = NodeProcess.start(zooKeeper.connectString(), cluster, "a", SHORT_SESSION_TIMEOUT);
        try (CuratorDirectory one = curator()) {
            Waits.until(
                    "the process is registered",
                    () -> namesOf(one.nodesNow(DEADLINE)).equals(List.of("a")));
            NodeRecord before = one.nodesNow(DEADLINE).getFirst();

            assertThatThrownBy(() -> one.register(advert("a"), Waits.seconds(3)))
                    .isInstanceOf(NodeUnreachableException.class)
                    .hasMessageContaining("host-of-a");
            process.destroyForcibly();
            NodeRecord after = one.register(advert("a"), DEADLINE);

            assertThat(after.id()).isEqualTo(before.id());
            assertThat(after.incarnation()).isGreaterThan(before.incarnation());
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void aWaitForALeftOverRegistrationEndsAtTheDeadline() {
        open().register(advert("a"), DEADLINE);
        long startNs = System.nanoTime();

        assertThatThrownBy(() -> open().register(advert("a"), Waits.scaled(Duration.ofMillis(400))))
                .isInstanceOf(NodeUnreachableException.class);

        assertThat(Duration.ofNanos(System.nanoTime() - startNs)).isLessThan(SESSION_TIMEOUT);
    }

    @Test
    void aRegistrationThatAnOlderSessionOfThisProcessLeftIsReplacedInOneStep() {
        // Longer than the client takes to find the server again, which pauses for up to 1 s between attempts.
        Duration timeout = SHORT_SESSION_TIMEOUT.multipliedBy(4);
        try (CuratorDirectory one = openSession(timeout)) {
            RecordingListener told = new RecordingListener();
            one.addListener(told);
            NodeRecord before = one.register(advert("a"), DEADLINE);
            long session = one.session().sessionId();

            giveUpSession(one);
            Waits.until("there is another session", () -> one.session().sessionId() != session);
            ClusterDirectory other = open();

            long endNs = System.nanoTime() + 3 * timeout.toNanos() / 2;
            while (System.nanoTime() < endNs) { // the old session ends meanwhile, and takes nothing with it
                assertThat(namesOf(other.nodesNow(DEADLINE))).containsExactly("a");
                LockSupport.parkNanos(5_000_000);
            }

            assertThat(told.registeredAgain).hasSize(1);
            NodeRecord after = told.registeredAgain.getFirst();
            assertThat(after.incarnation()).isGreaterThan(before.incarnation());
            assertThat(other.nodesNow(DEADLINE)).containsExactly(after);
        }
    }

    /** The client forgets its session; the server keeps it, with the registration, until its time-out has passed. */
    private static void giveUpSession(CuratorDirectory directory) {
        try {
            directory.session().client().getZookeeperClient().reset();
        } catch (Exception e) { // declared by Curator
            throw new AssertionError("the session could not be given up", e);
        }
    }

    @Test
    void aZooKeeperThatWasAwayForLongFindsEverySessionAndRegistrationAsItWas() {
        // Longer than the client takes to find the server again, which pauses for up to 1 s between attempts.
        Duration timeout = SHORT_SESSION_TIMEOUT.multipliedBy(4);
        try (CuratorDirectory one = openSession(timeout)) {
            RecordingListener told = new RecordingListener();
            one.addListener(told);
            NodeRecord before = one.register(advert("a"), DEADLINE);
            long session = one.session().sessionId();

            zooKeeper.stop();
            long endNs = System.nanoTime() + 3 * timeout.toNanos(); // the client gives it up twice meanwhile
            while (System.nanoTime() - endNs < 0) {
                LockSupport.parkNanos(endNs - System.nanoTime());
            }
            assertThat(one.isAvailable()).isFalse();
            zooKeeper.start();

            Waits.until("it is found again", one::isAvailable);
            assertThat(one.nodesNow(DEADLINE)).containsExactly(before);
            assertThat(one.session().sessionId()).isEqualTo(session);
            assertThat(told.registeredAgain).isEmpty();
        }
    }

    @Test
    void aNameThatWasTakenBetweenTwoSessionsIsReported() {
        try (CuratorDirectory one = openSession(SHORT_SESSION_TIMEOUT)) {
            RecordingListener told = new RecordingListener();
            one.addListener(told);
            one.register(advert("a"), DEADLINE);
            ClusterDirectory other = open();
            // Put in the place of the registration in one step, as if the session had ended long ago.
            ZooKeeperPaths paths = new ZooKeeperPaths(cluster);
            ZooKeeperSession session = ((CuratorDirectory) other).session();
            other.nodesNow(DEADLINE);
            NodeRecord successor = new NodeRecord("a", 0, 99, "another-host/boot", 1, Map.of());
            session.await(
                    session.multi(
                            paths.live("a"),
                            List.of(
                                    Op.delete(paths.live("a"), -1),
                                    session.createOp(
                                            paths.live("a"),
                                            new LiveEntry("another process", successor).toBytes(),
                                            CreateMode.EPHEMERAL))),
                    Deadline.after(DEADLINE),
                    "test");

            Waits.until("it is reported", () -> !told.refused.isEmpty());

            assertThat(told.refused.getFirst()).contains("another-host");
            assertThat(one.nodesNow(DEADLINE)).containsExactly(successor);
        }
    }

    @Test
    void aRegistrationThatSomebodyDeletedIsMadeAgain() {
        CuratorDirectory one = curator();
        RecordingListener told = new RecordingListener();
        one.addListener(told);
        NodeRecord before = one.register(advert("a"), DEADLINE);
        Waits.until("the node is heard of", () -> !one.nodes().isEmpty());
        String path = new ZooKeeperPaths(cluster).live("a");
        one.session().await(one.session().multi(path, List.of(Op.delete(path, -1))), Deadline.after(DEADLINE), "test");

        Waits.until("it is registered again", () -> !told.registeredAgain.isEmpty());

        assertThat(told.registeredAgain.getFirst().incarnation()).isGreaterThan(before.incarnation());
    }

    @Test
    void anEntryThatIsNotARegistrationHidesNoOther() {
        CuratorDirectory one = curator();
        NodeRecord node = one.register(advert("a"), DEADLINE);
        for (String junk :
                List.of("", "{", "null", "{}", "{\"owner\":\"x\"}", "{\"owner\":\"x\",\"node\":{\"id\":5}}")) {
            String path = new ZooKeeperPaths(cluster).live("junk-" + junk.hashCode());
            one.session().await(one.session().create(path, bytes(junk)), Deadline.after(DEADLINE), "test");
        }

        assertThat(one.nodesNow(DEADLINE)).containsExactly(node);
        Waits.until("the node is heard of", () -> one.nodes().equals(List.of(node)));
    }

    @Test
    void aServerThatIsNotThereIsReportedAtTheDeadline() throws IOException {
        try (ServerSocket silent = new ServerSocket(0);
                CuratorDirectory one = CuratorDirectory.open(CuratorConfig.of(
                        "127.0.0.1:" + silent.getLocalPort(), cluster))) { // accepts, and never answers
            long startNs = System.nanoTime();

            assertThatThrownBy(() -> one.read("a", Duration.ofMillis(300)))
                    .isInstanceOf(ClusterUnavailableException.class)
                    .hasMessageContaining("127.0.0.1:" + silent.getLocalPort())
                    .hasMessageContaining("300 ms");

            assertThat(Duration.ofNanos(System.nanoTime() - startNs))
                    .isBetween(Duration.ofMillis(300), Waits.seconds(2));
            assertThat(one.isAvailable()).isFalse();
        }
    }

    @Test
    void aLeaderWhosePartInTheElectionIsGoneDoesNotLeadNow() {
        CuratorDirectory one = curator();
        try (Leadership leadership = one.leadership("one")) {
            Waits.until("it leads", leadership::isLeader);
            assertThat(leadership.isLeaderNow(DEADLINE)).isTrue();
            String latch = new ZooKeeperPaths(cluster).leader;
            ZooKeeperSession session = ((CuratorDirectory) open()).session();
            session.requireUp(Deadline.after(DEADLINE));
            String part = session.await(session.children(latch), Deadline.after(DEADLINE), "test")
                    .get()
                    .getFirst();

            session.await(
                    session.multi(latch, List.of(Op.delete(latch + "/" + part, -1))), Deadline.after(DEADLINE), "test");

            assertThat(leadership.isLeaderNow(DEADLINE)).isFalse();
        }
    }

    @Test
    void aSecondManagerGoesOnWithARemovalThatTheFirstBegan() {
        CuratorDirectory one = curator();
        ClusterDirectory two = open();
        NodeRecord a = one.register(advert("a"), DEADLINE);
        NodeRecord b = two.register(advert("b"), DEADLINE);
        keepEpochs();
        two.close();
        Waits.until("b is removed", () -> one.epoch().isRemoved(b.id(), b.incarnation()));
        stopKeepers();
        long removed = one.epoch().number();
        assertThat(one.acknowledge(a, removed, DEADLINE)).isTrue();

        keepEpochs();

        Waits.until("b is fenced", () -> one.epoch().isFenced(b.id(), b.incarnation()));
        assertThat(one.epoch().number()).isEqualTo(removed);
    }

    @Test
    void oneOfTwoManagersLeadsAndTheOtherFollows() {
        CuratorDirectory one = curator();
        CuratorDirectory other = curator();
        Leadership first = one.leadership("one");
        Waits.until("the first leads", first::isLeader);
        Leadership second = other.leadership("other");
        List<Boolean> told = new CopyOnWriteArrayList<>();
        second.addListener(told::add);
        List<List<String>> participants = new CopyOnWriteArrayList<>();
        second.addParticipantsListener(participants::add);
        Waits.until(
                "both know both",
                () -> first.participants().equals(List.of("one", "other"))
                        && second.participants().equals(List.of("one", "other")));

        first.close();

        Waits.until("the second leads", second::isLeader);
        assertThat(first.isLeader()).isFalse();
        assertThat(told).containsExactly(true);
        Waits.until(
                "the second knows that it is alone", () -> second.participants().equals(List.of("other")));
        assertThat(participants).endsWith(List.of("other"));
        second.close();
    }
}

package dev.lite.cluster;

import static dev.lite.cluster.ClusterDirectoryContract.DEADLINE;
import static dev.lite.cluster.ClusterDirectoryContract.advert;
import static dev.lite.cluster.ClusterDirectoryContract.namesOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.CuratorZookeeperClient;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Registrations whose sessions with a real ZooKeeper end or pause. These tests wait for timeouts. */
class CuratorSessionTest {
    private static final Duration SESSION_TIMEOUT = Waits.seconds(5);

    /** A short session timeout, for tests that wait for it. */
    private static final Duration SHORT_SESSION_TIMEOUT = Waits.scaled(Duration.ofMillis(1500));

    private static final AtomicInteger CLUSTERS = new AtomicInteger();

    @RegisterExtension
    static final RealZooKeeper zooKeeper = new RealZooKeeper();

    private final String cluster = "test-" + CLUSTERS.incrementAndGet();
    private final List<CuratorDirectory> opened = new ArrayList<>();

    @AfterEach
    void closeSessions() {
        opened.forEach(CuratorDirectory::close);
    }

    private CuratorDirectory open() {
        CuratorDirectory session = zooKeeper.open(cluster, SESSION_TIMEOUT);
        opened.add(session);
        return session;
    }

    @Test
    void registeringWaitsForTheRegistrationOfAKilledProcessButNotOfALiveOne() throws IOException {
        Process process = NodeProcess.start(zooKeeper.connectString(), cluster, "a", SHORT_SESSION_TIMEOUT);
        try (CuratorDirectory one = open()) {
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
    void aRegistrationOfAnOlderSessionOfThisProcessIsReplacedInOneStep() {
        // Longer than the client needs to reconnect; it pauses for up to 1 s between attempts.
        Duration timeout = SHORT_SESSION_TIMEOUT.multipliedBy(4);
        try (CuratorDirectory one = zooKeeper.open(cluster, timeout)) {
            RecordingListener recorded = new RecordingListener();
            one.addListener(recorded);
            NodeRecord before = one.register(advert("a"), DEADLINE);
            assertThat(one.session().sessionTimeoutMs()).isEqualTo(timeout.toMillis());

            long keptUntilNs = giveUpSession(one) + timeout.toNanos();
            CuratorDirectory other = open();

            boolean again = false;
            while (System.nanoTime() - keptUntilNs < 0) {
                again |= !recorded.registeredAgain.isEmpty();
                assertThat(namesOf(other.nodesNow(DEADLINE))).containsExactly("a");
                Waits.pass(Duration.ofMillis(5));
            }
            assertThat(again)
                    .as("registered again before the old session ended")
                    .isTrue();

            // The old session ends meanwhile, which must not remove the registration.
            while (System.nanoTime() - keptUntilNs < timeout.toNanos() / 2) {
                assertThat(namesOf(other.nodesNow(DEADLINE))).containsExactly("a");
                Waits.pass(Duration.ofMillis(5));
            }

            assertThat(recorded.registeredAgain).hasSize(1);
            NodeRecord after = recorded.registeredAgain.getFirst();
            assertThat(after.incarnation()).isGreaterThan(before.incarnation());
            assertThat(other.nodesNow(DEADLINE)).containsExactly(after);
        }
    }

    /**
     * The client starts another session. The server keeps the old one, with the registration, until its timeout. A client
     * resumes its session, unless its last handle ended without ever connecting. So this ends handles while the server is
     * stopped: none can connect, and none can close the session at the server.
     *
     * @return a time before the server was started again; it keeps the old session for its timeout from then on
     */
    private static long giveUpSession(CuratorDirectory directory) {
        long session = directory.session().sessionId();
        CuratorZookeeperClient client = directory.session().client().getZookeeperClient();
        zooKeeper.stop();
        long startedNs;
        long endNs = System.nanoTime() + DEADLINE.toNanos();
        ZooKeeper ended = null;
        try {
            while (directory.session().sessionId() == session) {
                assertThat(System.nanoTime()).as("there is another session").isLessThan(endNs);
                ZooKeeper handle = client.getZooKeeper();
                if (handle != ended && !handle.getState().isConnected()) {
                    handle.getTestable().injectSessionExpiration();
                    ended = handle;
                }
                Thread.onSpinWait();
            }
        } catch (Exception e) { // declared by Curator
            throw new AssertionError("the session could not be given up", e);
        } finally {
            startedNs = System.nanoTime();
            zooKeeper.start();
        }
        return startedNs;
    }

    @Test
    void aNameTakenByAnotherNodeBetweenTwoSessionsIsReported() {
        try (CuratorDirectory one = zooKeeper.open(cluster, SHORT_SESSION_TIMEOUT)) {
            RecordingListener recorded = new RecordingListener();
            one.addListener(recorded);
            one.register(advert("a"), DEADLINE);
            NodeRecord successor = giveNameToAnotherNode();

            Waits.until("it is reported", () -> !recorded.refused.isEmpty());

            assertThat(recorded.refused.getFirst()).contains("another-host");
            assertThat(one.nodesNow(DEADLINE)).containsExactly(successor);
        }
    }

    /** A process that has just ended looks like one that lives until its session times out. */
    @Test
    void aNameTakenByAnotherNodeThatLeavesInItsTimeIsTakenBackAlthoughTheReleaseTookLong() {
        Duration timeout = SHORT_SESSION_TIMEOUT.multipliedBy(2);
        CountDownLatch released = new CountDownLatch(1);
        try (CuratorDirectory one = zooKeeper.open(cluster, timeout)) {
            RecordingListener recorded = new RecordingListener();
            one.addListener(recorded);
            one.addListener(new DirectoryListener() {
                @Override
                public void registrationLost() {
                    if (released.getCount() > 0) {
                        Waits.pass(timeout.multipliedBy(8).dividedBy(5)); // of two timeouts
                        released.countDown();
                    }
                }
            });
            NodeRecord before = one.register(advert("a"), DEADLINE);
            NodeRecord successor = giveNameToAnotherNode();

            Waits.await(released);
            Waits.pass(timeout.multipliedBy(4).dividedBy(5));
            assertThat(one.nodesNow(DEADLINE)).containsExactly(successor);
            opened.removeLast().close();

            Waits.until("it is registered again", () -> !recorded.registeredAgain.isEmpty());
            assertThat(recorded.registeredAgain.getFirst().incarnation()).isGreaterThan(before.incarnation());
            assertThat(recorded.refused).isEmpty();
        }
    }

    /** A process that has just ended looks like one that lives until its own session times out. */
    @Test
    void aNameIsWaitedForAsLongAsTheSessionOfItsFormerProcessMayLast() {
        CuratorDirectory former = zooKeeper.open(cluster, SHORT_SESSION_TIMEOUT.multipliedBy(4));
        opened.add(former);
        NodeRecord before = former.register(advert("a"), DEADLINE);
        try (CuratorDirectory next = zooKeeper.open(cluster, SHORT_SESSION_TIMEOUT)) {
            CompletableFuture<NodeRecord> after =
                    CompletableFuture.supplyAsync(() -> next.register(advert("a"), DEADLINE));
            Waits.pass(SHORT_SESSION_TIMEOUT.multipliedBy(2));
            opened.removeLast().close();

            assertThat(after.join().incarnation()).isGreaterThan(before.incarnation());
        }
    }

    /** Replaces the registration of "a" in one step, as if its session had ended long ago. */
    private NodeRecord giveNameToAnotherNode() {
        CuratorDirectory other = open();
        ZooKeeperPaths paths = new ZooKeeperPaths(cluster);
        ZooKeeperSession session = other.session();
        other.nodesNow(DEADLINE);
        NodeRecord successor = new NodeRecord("a", 0, 99, "another-host/boot", 1, Map.of());
        session.await(
                session.multi(
                        paths.live("a"),
                        List.of(
                                Op.delete(paths.live("a"), -1),
                                session.createOp(
                                        paths.live("a"),
                                        new LiveEntry("another process", successor, null, 0).toBytes(),
                                        CreateMode.EPHEMERAL))),
                Deadline.in(DEADLINE),
                "test");
        return successor;
    }

    @Test
    void aListenerIsNotNotifiedThatAnEarlierRegistrationWasRefused() {
        try (CuratorDirectory one = zooKeeper.open(cluster, SHORT_SESSION_TIMEOUT)) {
            RecordingListener early = new RecordingListener();
            one.addListener(early);
            one.register(advert("a"), DEADLINE);
            giveNameToAnotherNode();
            Waits.until("it is reported", () -> !early.refused.isEmpty());

            one.register(advert("b"), DEADLINE);
            RecordingListener late = new RecordingListener();
            one.addListener(late);
            open().register(advert("c"), DEADLINE);

            Waits.until("the listener was added", () -> late.lastNodes().contains("c"));
            assertThat(late.refused).isEmpty();
        }
    }

    /** A registration of another process would be given up at once, instead of after that process's timeout. */
    @Test
    void theTimeoutOfASessionThatIsNotConnectedYetIsTheConfiguredOne() throws IOException {
        try (ServerSocket silent = new ServerSocket(0);
                CuratorDirectory one = CuratorDirectory.open(new CuratorConfig(
                        "127.0.0.1:" + silent.getLocalPort(), cluster, SESSION_TIMEOUT, Waits.seconds(10)))) {
            assertThat(one.session().sessionTimeoutMs()).isEqualTo(SESSION_TIMEOUT.toMillis());
        }
    }

    @Test
    void anUnresponsiveServerIsReportedAtTheDeadline() throws IOException {
        try (ServerSocket silent = new ServerSocket(0);
                CuratorDirectory one = CuratorDirectory.open(
                        CuratorConfig.of("127.0.0.1:" + silent.getLocalPort(), cluster))) { // accepts but never answers
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
}

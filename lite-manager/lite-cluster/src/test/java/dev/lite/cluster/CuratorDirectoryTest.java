package dev.lite.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.NodeUnreachableException;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The contract, and cases that need a real ZooKeeper. All tests share one server; each has its own cluster name. */
class CuratorDirectoryTest extends ClusterDirectoryContract {
    private static final int ROUNDS = 60;

    private static final Duration SESSION_TIMEOUT = Waits.seconds(5);

    private static final AtomicInteger CLUSTERS = new AtomicInteger();

    @RegisterExtension
    static final RealZooKeeper zooKeeper = new RealZooKeeper();

    private final String cluster = "test-" + CLUSTERS.incrementAndGet();

    @Override
    ClusterDirectory openSession() {
        return open(SESSION_TIMEOUT);
    }

    private CuratorDirectory open(Duration sessionTimeout) {
        return CuratorDirectory.open(
                new CuratorConfig(zooKeeper.connectString(), cluster, sessionTimeout, Waits.seconds(1))
                        .withSigning(new CuratorConfig.Signing("the secret of this cluster", false)));
    }

    @Override
    public void stopDirectory() {
        zooKeeper.stop();
    }

    @Override
    public void startDirectory() {
        zooKeeper.start();
    }

    /** Ends a session by a second connection with the session's id and password: the server reports "expired" to the first one. */
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
        CuratorDirectory manager = open(SESSION_TIMEOUT);
        Leadership leadership = manager.leadership("keeper");
        EpochKeeperThread keeping = manager.keepEpochs(leadership);
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
    void waitingForAStaleRegistrationEndsAtTheDeadline() {
        open().register(advert("a"), DEADLINE);
        long startNs = System.nanoTime();

        assertThatThrownBy(() -> open().register(advert("a"), Waits.scaled(Duration.ofMillis(400))))
                .isInstanceOf(NodeUnreachableException.class);

        assertThat(Duration.ofNanos(System.nanoTime() - startNs)).isLessThan(SESSION_TIMEOUT);
    }

    @Test
    void aDeletedRegistrationIsRestored() {
        CuratorDirectory one = curator();
        RecordingListener recorded = new RecordingListener();
        one.addListener(recorded);
        NodeRecord before = one.register(advert("a"), DEADLINE);
        Waits.until("the node is seen", () -> !one.nodes().isEmpty());
        String path = new ZooKeeperPaths(cluster).live("a");
        one.session().await(one.session().multi(path, List.of(Op.delete(path, -1))), Deadline.in(DEADLINE), "test");

        Waits.until("it is registered again", () -> !recorded.registeredAgain.isEmpty());

        assertThat(recorded.registeredAgain.getFirst().incarnation()).isGreaterThan(before.incarnation());
    }

    /** Also if it goes while it is verified for another reason, after it was found there. */
    @Test
    void aRegistrationIsNeverMadeAgainBeforeItsLossWasReported() {
        CuratorDirectory one = curator();
        CuratorDirectory other = curator();
        RecordingListener recorded = new RecordingListener();
        one.addListener(recorded);
        NodeRecord unused = one.register(advert("a"), DEADLINE);
        String path = new ZooKeeperPaths(cluster).live("a");
        Random delays = new Random(1);
        for (int round = 1; round <= ROUNDS; round++) {
            one.publishManagementUrl("http://host/" + round);
            long untilNs = System.nanoTime() + delays.nextInt(3_000_000);
            while (System.nanoTime() < untilNs) {
                Thread.onSpinWait();
            }
            other.session()
                    .await(other.session().multi(path, List.of(Op.delete(path, -1))), Deadline.in(DEADLINE), "test");
            int times = round;
            Waits.until("it is registered again", () -> recorded.registeredAgain.size() >= times);
        }
        assertThat(recorded.lostAndFound).hasSize(2 * ROUNDS);
        for (int round = 0; round < ROUNDS; round++) {
            assertThat(recorded.lostAndFound.subList(2 * round, 2 * round + 2)).containsExactly("lost", "found");
        }
    }

    @Test
    void anInvalidRegistrationHidesNoOther() {
        CuratorDirectory one = curator();
        NodeRecord node = one.register(advert("a"), DEADLINE);
        for (String junk :
                List.of("", "{", "null", "{}", "{\"owner\":\"x\"}", "{\"owner\":\"x\",\"node\":{\"id\":5}}")) {
            String path = new ZooKeeperPaths(cluster).live("junk-" + junk.hashCode());
            one.session().await(one.session().create(path, bytes(junk)), Deadline.in(DEADLINE), "test");
        }

        assertThat(one.nodesNow(DEADLINE)).containsExactly(node);
        Waits.until("the node is seen", () -> one.nodes().equals(List.of(node)));
    }

    @Test
    void aLeaderWithoutAnElectionZnodeNoLongerLeads() {
        CuratorDirectory one = curator();
        try (Leadership leadership = one.leadership("one")) {
            Waits.until("it leads", leadership::isLeader);
            assertThat(leadership.isLeaderNow(DEADLINE)).isTrue();
            String latch = new ZooKeeperPaths(cluster).leader;
            ZooKeeperSession session = ((CuratorDirectory) open()).session();
            session.requireUp(Deadline.in(DEADLINE));
            String part = session.await(session.children(latch), Deadline.in(DEADLINE), "test")
                    .get()
                    .getFirst();

            session.await(
                    session.multi(latch, List.of(Op.delete(latch + "/" + part, -1))), Deadline.in(DEADLINE), "test");

            assertThat(leadership.isLeaderNow(DEADLINE)).isFalse();
        }
    }

    @Test
    void aSecondManagerFinishesARemovalThatTheFirstStarted() {
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
    void oneOfTwoManagersLeadsAndTheOtherTakesOver() {
        CuratorDirectory one = curator();
        CuratorDirectory other = curator();
        Leadership first = one.leadership("one");
        Waits.until("the first leads", first::isLeader);
        Leadership second = other.leadership("other");
        List<Boolean> recorded = new CopyOnWriteArrayList<>();
        second.addListener(recorded::add);
        List<List<String>> participants = new CopyOnWriteArrayList<>();
        second.addParticipantsListener(participants::add);
        Waits.until(
                "both list both managers",
                () -> first.participants().equals(List.of("one", "other"))
                        && second.participants().equals(List.of("one", "other")));

        first.close();

        Waits.until("the second leads", second::isLeader);
        assertThat(first.isLeader()).isFalse();
        assertThat(recorded).containsExactly(true);
        Waits.until("the second lists only itself", () -> second.participants().equals(List.of("other")));
        assertThat(participants).endsWith(List.of("other"));
        second.close();
    }

    /** ZooKeeper answers with all names of a bucket, and its client reads 1 MiB by default. */
    @Test
    void namesOfMoreThanAMebibyteInOneBucketAreListed() {
        List<String> names = IntStream.range(0, Integer.MAX_VALUE)
                .mapToObj(number -> "%06d%s".formatted(number, "é".repeat(250))) // encoded three times as long
                .filter(name -> RecordName.bucket(name) == 0)
                .limit(720)
                .toList();
        try (ClusterDirectory directory = openSession()) {
            for (String name : names) {
                assertThat(directory.create(name, new byte[0], DEADLINE)).isTrue();
            }

            assertThat(directory.names("", "", names.size() + 1, DEADLINE)).containsExactlyElementsOf(names);
            assertThat(directory.isAvailable()).isTrue();
        }
    }
}

package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Placement;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.RemoteWork.Part;
import dev.lite.tier.TierHandle;
import dev.lite.tier.TierSession;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.testing.HeldNews;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Requests for memset and copy that a busy node begins late. */
class LateWorkTest {
    static final Duration LONG = Waits.seconds(20);
    static final int BYTES = 64;

    @TempDir(factory = InDevShm.class)
    Path root;

    /** Over its next connection, the caller was told that no work runs, and has written other data since. */
    @Test
    void workOfAFormerConnectionDoesNotBeginWhenItsNodeIsConnectedAgain() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2)) {
            LiteNode node = cluster.node(0);
            PeerLinks links = Inside.field(node, "links", PeerLinks.class);
            LocalWork work = work(node);
            Mapping target = lmr(node, (byte) 1);
            Mapping source = lmr(node, (byte) 2);
            Peer former = links.awaitPeer(1, Deadline.in(LONG));
            former.endpoint().close();
            Waits.until("the node is connected again", () -> links.peer(1) != null && links.peer(1) != former);

            assertThatExceptionOfType(NodeUnreachableException.class)
                    .isThrownBy(() -> work.memset(former, target.id(), runs(target), (byte) 3));
            assertThatExceptionOfType(NodeUnreachableException.class)
                    .isThrownBy(() -> work.copy(former, part(source), part(target), BYTES, Deadline.in(LONG)));
            byte[] data = new byte[BYTES];
            target.read(0, data);
            assertThat(data).containsOnly(1);

            Peer next = links.awaitPeer(1, Deadline.in(LONG));
            work.memset(next, target.id(), runs(target), (byte) 3);
            target.read(0, data);
            assertThat(data).containsOnly(3);
        }
    }

    /** The copies wait at the second node until it is connected with the third one again. */
    @Test
    void copiesThatWaitForAThirdNodeDelayNoLocksNoAllocationsAndNoFreesOfOtherLmrs() {
        SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(1));
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(3)) {
            cluster.attach(1).sync().lock("x").acquire(LONG).close(); // n1 is its home
            TierSession copying = cluster.node(0).open("app", "test");
            TierHandle source = copying.malloc(LmrSpec.of(BYTES).withPlacement(Placement.on("n1")), LONG);
            TierHandle target = copying.malloc(LmrSpec.of(BYTES).withPlacement(Placement.on("n2")), LONG);
            TierSession other = cluster.node(0).open("other", "test");
            List<TierHandle> others = Stream.generate(
                            () -> other.malloc(LmrSpec.of(BYTES).withPlacement(Placement.on("n1")), LONG))
                    .limit(100)
                    .toList();
            long allocated = cluster.node(1).figures().usage().allocatedBytes();
            network.pause("n2");
            network.drop("n1", "n2");
            PeerLinks links = Inside.field(cluster.node(1), "links", PeerLinks.class);
            Waits.until("the connection is gone", () -> links.peer(2) == null);
            List<CompletableFuture<Void>> copies = Stream.generate(() -> CompletableFuture.runAsync(
                            () -> copying.copy(source, 0, target, 0, BYTES, false, LONG),
                            copy -> Thread.ofPlatform().daemon().start(copy)))
                    .limit(2)
                    .toList();
            Waits.until("both are under way", () -> running(cluster.node(0)) + running(cluster.node(1)) == 2);

            other.sync().lock("x", Waits.seconds(5)).acquire(Waits.seconds(5)).close();
            others.forEach(lmr -> lmr.free(Waits.seconds(5)));
            Waits.until(
                    "their memory is free",
                    Waits.seconds(5),
                    () -> cluster.node(1).figures().usage().allocatedBytes()
                            <= allocated - (long) others.size() * BYTES);
            other.malloc(LmrSpec.of(BYTES).withPlacement(Placement.on("n1")), Waits.seconds(5));
            assertThat(copies).noneMatch(CompletableFuture::isDone);

            network.resume("n2");
            copies.forEach(copy -> assertThat(copy).succeedsWithin(LONG));
        }
    }

    /** An application chooses the deadline of its copies. */
    @Test
    void aCopyThatWaitsForAThirdNodeDoesNotDelayTheFenceOfTheNodeThatAskedForIt() {
        SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(1));
        try (TestCluster cluster = new TestCluster(root, network.provider())) {
            WaitingCopy copy = copyThatWaitsAtN1(cluster, Duration.ofHours(1));

            long before = cluster.node(0).self().incarnation();
            cluster.directory(0).setAvailable(false);
            cluster.directory(0).expireSession();

            Waits.until("n0 is fenced", () -> cluster.directory(1).epoch().isFenced(0, before));
            assertThat(running(cluster.node(1))).isZero();
            cluster.directory(0).setAvailable(true);
            copy.newsOfN1().release(); // else n1 does not connect with the new registration of n0
            assertThat(copy.copy()).failsWithin(LONG).withThrowableOfType(ExecutionException.class);
        }
    }

    /** A new process of a node does not know what the former one does, which may still write. */
    @Test
    void theAnswerOfANewProcessDoesNotEndTheWorkOfAFormerOneThatIsNotFenced() {
        SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(1));
        try (TestCluster cluster = new TestCluster(root, network.provider())) {
            CompletableFuture<Void> copy = copyThatWaitsAtN1(cluster, LONG).copy();
            cluster.store().setKeeper(false);
            cluster.stop("n1");
            cluster.start("n1");
            Waits.until(
                    "the new process is connected",
                    () -> cluster.node(0).nodes().stream()
                            .anyMatch(node ->
                                    node.name().equals("n1") && !node.fabric().equals("none")));
            WorkCalls work =
                    Inside.field(Inside.field(cluster.node(0), "lmrs", LmrServices.class), "work", WorkCalls.class);

            assertThat(work.isQuiet(1, 0, Deadline.in(LONG))).isFalse();
            cluster.store().setKeeper(true);

            assertThat(copy).failsWithin(LONG).withThrowableOfType(ExecutionException.class);
            Waits.until("the former process is fenced", () -> work.isQuiet(1, 0, Deadline.in(LONG)));
        }
    }

    @Test
    void theTimeoutOfACopyHasTheNameOfTheNodeThatCopies() {
        SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(1));
        try (TestCluster cluster = new TestCluster(root, network.provider())) {
            CompletableFuture<Void> copy =
                    copyThatWaitsAtN1(cluster, Waits.seconds(2)).copy();
            assertThat(copy)
                    .failsWithin(LONG)
                    .withThrowableOfType(ExecutionException.class)
                    .withCauseInstanceOf(LiteTimeoutException.class)
                    .withMessageContaining("by node n1");
            network.resume("n1");
        }
    }

    /** The connection has one slot for such work, which the first copy has. */
    @Test
    void theTimeoutOfACopyThatWaitsForAnotherOneHasTheNameOfTheNodeThatCopies() {
        SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(1));
        try (TestCluster cluster = new TestCluster(root, network.provider())) {
            WaitingCopy first = copyThatWaitsAtN1(cluster, LONG);
            TierSession other = cluster.node(0).open("other", "test");
            TierHandle source = on("n1", other);
            TierHandle target = on("n1", other);
            assertThatExceptionOfType(LiteTimeoutException.class)
                    .isThrownBy(() -> other.copy(source, 0, target, 0, BYTES, false, Waits.seconds(1)))
                    .withMessageContaining("by node n1")
                    .withMessageContaining("control slots");
            assertThat(first.copy()).isNotDone();
        }
    }

    private record WaitingCopy(CompletableFuture<Void> copy, HeldNews newsOfN1) {}

    /** From n1 to n2, which has left; n1 has not heard of that. n0 asks for it. */
    private static WaitingCopy copyThatWaitsAtN1(TestCluster cluster, Duration deadline) {
        cluster.start("n0");
        HeldNews.Started copier = HeldNews.start(cluster, cluster.config("n1"));
        cluster.start("n2");
        cluster.awaitConnections();
        TierSession copying = cluster.node(0).open("app", "test");
        TierHandle source = on("n1", copying);
        TierHandle target = on("n2", copying);
        copier.news().holdNodes();
        cluster.stop("n2");
        CompletableFuture<Void> copy = CompletableFuture.runAsync(
                () -> copying.copy(source, 0, target, 0, BYTES, false, deadline),
                asked -> Thread.ofPlatform().daemon().start(asked));
        Waits.until("it is under way at n1", () -> running(copier.node()) == 1);
        return new WaitingCopy(copy, copier.news());
    }

    static Mapping on(String node, TierSession session) {
        return (Mapping) session.malloc(LmrSpec.of(BYTES).withPlacement(Placement.on(node)), LONG);
    }

    static int running(LiteNode node) {
        return Inside.field(work(node), "running", Set.class).size();
    }

    private static LocalWork work(LiteNode node) {
        return Inside.field(Inside.field(node, "lmrs", LmrServices.class), "localWork", LocalWork.class);
    }

    private static Mapping lmr(LiteNode node, byte value) {
        TierSession session = node.open("app", "test");
        Mapping mapping = (Mapping) session.malloc(LmrSpec.of(BYTES), LONG);
        mapping.memset(0, BYTES, value);
        return mapping;
    }

    private static List<Run> runs(Mapping mapping) {
        return mapping.lmr().shares().getFirst().runs();
    }

    private static Part part(Mapping mapping) {
        return part(0, mapping);
    }

    static Part part(int node, Mapping mapping) {
        Run run = runs(mapping).getFirst();
        return new Part(node, mapping.lmr().shares().getFirst().arena(), mapping.id(), run.offset(), run.entry());
    }
}

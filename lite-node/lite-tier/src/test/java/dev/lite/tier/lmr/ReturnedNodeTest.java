package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.peer.Fencing;
import dev.lite.tier.testing.HeldNews;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Changes of LMRs while a node that was fenced returns: a node counts as gone only if no process of it can return. */
class ReturnedNodeTest {
    private static final Permission[] DATA = {Permission.READ, Permission.WRITE, Permission.ATOMIC};

    private static final int BYTES = 4096;

    @TempDir(factory = InDevShm.class)
    Path root;

    /**
     * n0 moves and frees, and gets no list of nodes while n2 returns. n1 has the memory. n2 is fenced and then returns.
     *
     * @param keeps whether a manager makes the epoch that admits n2
     */
    private void returnUnseen(TestCluster cluster, HeldNews news, boolean keeps) {
        LiteNode returning = cluster.node(2);
        long before = returning.self().incarnation();
        cluster.directory(2).setAvailable(false);
        cluster.directory(2).expireSession();
        Waits.until("n2 is fenced", () -> cluster.directory(0).epoch().isFenced(2, before));
        news.holdNodes();
        cluster.store().setKeeper(keeps);
        cluster.directory(2).setAvailable(true);
        Waits.until("n2 is registered again", () -> returning.self().incarnation() > before);
        if (keeps) {
            Waits.until(
                    "n0 heard of the epoch that admits n2",
                    () -> cluster.directory(0).epoch().member(2).isPresent());
        }
    }

    private static LmrSpec onN1(String name) {
        return LmrSpec.of(4096).withName(name).withPlacement(Placement.on("n1")).withDefaultPermissions(DATA);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aMoveWaitsForANodeThatReturnedBeforeItsListOfNodesSaysSo(boolean keeps) {
        try (TestCluster cluster = new TestCluster(root, new TcpFabricProvider(), Waits.seconds(20))) {
            AtomicReference<@Nullable HeldNews> held = new AtomicReference<>();
            LiteNode mover = cluster.start(cluster.withDeadline("n0", Waits.seconds(2)), directory -> {
                HeldNews through = new HeldNews(directory);
                held.set(through);
                return through;
            });
            HeldNews news = java.util.Objects.requireNonNull(held.get());
            cluster.start("n1");
            cluster.start("n2");
            cluster.awaitConnections();
            LmrHandle moving = mover.attach("app").memory().malloc(onN1("moving"));
            LmrHandle returned = cluster.attach(2).memory().map("moving", DATA[0], DATA);
            returned.fetchAdd(0, 1);
            returnUnseen(cluster, news, keeps);
            returned.fetchAdd(0, 1);

            assertThatThrownBy(() -> moving.moveTo("n0"))
                    .isInstanceOf(LiteTimeoutException.class)
                    .hasMessageContaining("[2]");
            returned.fetchAdd(0, 1);
            news.release();
            cluster.store().setKeeper(true);

            cluster.awaitConnections();
            moving.moveTo("n0");
            returned.fetchAdd(0, 1);
            assertThat(moving.fetchAdd(0, 0)).isEqualTo(4);
        }
    }

    @Test
    void theAnswerOfANewProcessDoesNotCountForAnEarlierProcessOfItsNodeThatIsNotFenced() {
        try (TestCluster cluster = new TestCluster(root, new TcpFabricProvider(), Waits.seconds(20)).start(3)) {
            LiteNode master = cluster.start(cluster.withDeadline("n3", Waits.seconds(2)));
            cluster.awaitConnections();
            LmrHandle freed = master.attach("app").memory().malloc(onN1("freed"));
            cluster.attach(2).memory().map("freed", DATA[0], DATA).fetchAdd(0, 1);
            cluster.store().setKeeper(false); // so that nobody fences the first process of n2
            cluster.stop("n2");
            cluster.start("n2");
            cluster.awaitConnections();

            freed.free();

            assertThat(master.figures().usage().reclaiming()).isOne();
            cluster.store().setKeeper(true);
            Waits.until("the memory is free", () -> master.figures().usage().reclaiming() == 0);
        }
    }

    /** The new process may use the LMR, and nobody has told it of the change. */
    @Test
    void theAnswerOfAProcessThatAnotherOneReplacesBeforeAllNodesHaveAnsweredDoesNotCount() {
        try (TestCluster cluster = new TestCluster(root, new TcpFabricProvider(), Waits.seconds(20)).start(2)) {
            LmrServices lmrs = Inside.field(cluster.node(0), "lmrs", LmrServices.class);
            Mappers mappers = Inside.field(lmrs, "mappers", Mappers.class);
            Fencing fencing = Inside.field(mappers, "fencing", Fencing.class);

            Set<Integer> answered = mappers.notifyAll(Set.of(1), "a test", node -> {
                cluster.stop("n1");
                cluster.start("n1");
                cluster.awaitConnections();
                Waits.until("its former process is fenced", () -> fencing.isSettled(1));
            });

            assertThat(answered).isEmpty();
            assertThat(mappers.notifyAll(Set.of(1), "a test", node -> {})).containsExactly(1);
        }
    }

    @Test
    void theMemoryOfAFreedLmrIsNotReusedWhileAReturnedNodeStillHasItMapped() {
        try (TestCluster cluster = new TestCluster(root, new TcpFabricProvider(), Waits.seconds(20))) {
            AtomicReference<@Nullable HeldNews> held = new AtomicReference<>();
            LiteNode master = cluster.start(cluster.withDeadline("n0", Waits.seconds(2)), directory -> {
                HeldNews through = new HeldNews(directory);
                held.set(through);
                return through;
            });
            HeldNews news = java.util.Objects.requireNonNull(held.get());
            cluster.start("n1");
            cluster.start("n2");
            cluster.awaitConnections();
            LmrHandle freed = master.attach("app").memory().malloc(onN1("freed"));
            LmrHandle returned = cluster.attach(2).memory().map("freed", DATA[0], DATA);
            returned.fetchAdd(0, 1);
            returnUnseen(cluster, news, true);
            returned.fetchAdd(0, 1);

            freed.free();

            assertThat(master.figures().usage().reclaiming()).isOne();
            news.release();
            cluster.awaitConnections();
            Waits.until("the memory is free", () -> master.figures().usage().reclaiming() == 0);
            assertThatThrownBy(() -> returned.fetchAdd(0, 1)).hasMessageContaining("freed");
        }
    }

    /** The mover reads the record of its move, is fenced before it goes on, and returns: its move is undone by then. */
    @Test
    void aMoverThatWasFencedAndReturnedCopiesNothing() throws InterruptedException {
        try (TestCluster cluster = new TestCluster(root, new TcpFabricProvider(), Waits.seconds(20))) {
            AtomicReference<@Nullable HeldNews> through = new AtomicReference<>();
            LiteNode mover = cluster.start(cluster.withDeadline("n0", Waits.seconds(20)), directory -> {
                through.set(new HeldNews(directory));
                return java.util.Objects.requireNonNull(through.get());
            });
            LiteNode target = cluster.start("n1");
            cluster.start("n2");
            cluster.awaitConnections();
            LmrHandle moving = mover.attach("app")
                    .memory()
                    .malloc(LmrSpec.of(BYTES).withName("moving").withPlacement(Placement.on("n0")));
            moving.memset(0, BYTES, (byte) 1);
            AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();
            Thread moves = Thread.ofPlatform().unstarted(() -> {
                try {
                    moving.moveTo("n1");
                } catch (RuntimeException e) {
                    failure.set(e);
                }
            });
            HeldNews.HeldAnswer answer =
                    java.util.Objects.requireNonNull(through.get()).holdMovingRecord(moves, 1);
            moves.start();
            Waits.until("the mover has read its record", answer::isHeld);

            long before = mover.self().incarnation();
            cluster.directory(0).setAvailable(false);
            cluster.directory(0).expireSession();
            Waits.until("n0 is fenced", () -> cluster.directory(1).epoch().isFenced(0, before));
            Waits.until("the move is undone", () -> target.figures().lmrBytes() == 0);
            List<LmrHandle> next = allMemoryOf(target);
            cluster.directory(0).setAvailable(true);
            cluster.awaitConnections();
            answer.release();
            moves.join();

            byte[] content = new byte[BYTES];
            for (LmrHandle each : next) {
                each.read(0, content);
                assertThat(content).containsOnly(0);
            }
            assertThat(failure.get()).isNotNull();
            moving.read(0, content);
            assertThat(content).containsOnly(1);
        }
    }

    private static List<LmrHandle> allMemoryOf(LiteNode node) {
        LtMemory memory = node.attach("others").memory();
        LmrSpec spec = LmrSpec.of(BYTES).withPlacement(Placement.on(node.self().name()));
        List<LmrHandle> all = new ArrayList<>();
        try {
            while (true) {
                all.add(memory.malloc(spec));
            }
        } catch (LimitExceededException e) {
            return all;
        }
    }
}

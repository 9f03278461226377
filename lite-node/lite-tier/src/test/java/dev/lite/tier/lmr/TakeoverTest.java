package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Placement;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Move;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.cluster.LmrRecord.State;
import dev.lite.cluster.VersionedRecord;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.testing.HeldNews;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a fenced node had begun, while the directory or another node does not do its part. */
class TakeoverTest {
    @TempDir(factory = InDevShm.class)
    Path root;

    private final HeldNews[] news = new HeldNews[1];
    private TestCluster cluster;
    private LiteNode node;
    private LtMemory memory;

    @BeforeEach
    void start() {
        cluster = new TestCluster(root, new ShmFabricProvider());
        node = cluster.start(cluster.config("n0"), real -> news[0] = new HeldNews(real));
        memory = node.attach("app").memory();
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private void change(String name, UnaryOperator<LmrRecord> changed) {
        ClusterDirectory directory = cluster.directory(0);
        VersionedRecord found = directory.read(name, Waits.seconds(5)).orElseThrow();
        LmrRecord next = changed.apply(LmrRecord.decode(found.bytes()));
        assertThat(directory.compareAndSet(name, found.version(), next.encode(), Waits.seconds(5)))
                .isPresent();
    }

    private boolean isFreed(String name) {
        return cluster.directory(0).read(name, Waits.seconds(5)).isEmpty();
    }

    /** Leaves the record that a node leaves which dies while it frees the LMR. */
    private void dyingFree(String name) {
        memory.malloc(LmrSpec.of(4096).withName(name).withPlacement(Placement.local()));
        change(name, lmr -> lmr.withState(State.FREEING));
    }

    private void takeOver() {
        Inside.field(node, "lmrs", LmrServices.class).takeOver();
    }

    @Test
    void aMoveThatCannotBeUndoneNowDoesNotKeepOtherWorkFromBeingTakenOver() {
        memory.malloc(LmrSpec.of(4096).withName("moving").withPlacement(Placement.local()));
        Share nowhere = new Share(0, UUID.randomUUID(), List.of(new Run(1 << 20, 1 << 16, 500)));
        long former = node.self().incarnation();
        change("moving", lmr -> lmr.withMove(new Move(0, former, 62, List.of(nowhere))));
        news[0].refuseChangesOf("moving");
        List<String> names = new ArrayList<>();
        for (int lmr = 0; lmr < 8; lmr++) {
            names.add("freed" + lmr);
            dyingFree("freed" + lmr);
        }

        takeOver();

        Waits.until("all are freed", () -> names.stream().allMatch(this::isFreed));
        assertThat(news[0].refusals()).isPositive();
        news[0].refuseChangesOf("");
        Waits.until(
                "the move is undone",
                () -> LmrRecord.decode(cluster.directory(0)
                                        .read("moving", Waits.seconds(5))
                                        .orElseThrow()
                                        .bytes())
                                .state()
                        == State.LIVE);
    }

    @Test
    void aRecordThatCannotBeReadDoesNotKeepOtherWorkFromBeingTakenOver() {
        dyingFree("freed");
        assertThat(cluster.directory(0).create("damaged", new byte[] {1, 2, 3}, Waits.seconds(5)))
                .isTrue();
        dyingFree("unreadable");
        news[0].makeUnreadable("unreadable");

        takeOver();

        Waits.until("it is freed", () -> isFreed("freed"));
        assertThat(isFreed("unreadable")).isFalse();
        news[0].makeUnreadable("");
        Waits.until("the other one is freed, too", () -> isFreed("unreadable"));
    }

    @Test
    void workIsTakenOverLaterIfTheDirectoryDoesNotAnswerAtOnce() {
        dyingFree("freed");
        cluster.directory(0).setAvailable(false);
        takeOver();
        Waits.pass(Waits.seconds(0.3)); // for the attempt that fails

        cluster.directory(0).setAvailable(true);

        Waits.until("it is freed", () -> isFreed("freed"));
    }
}

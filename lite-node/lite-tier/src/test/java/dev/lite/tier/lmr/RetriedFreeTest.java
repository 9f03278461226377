package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.testing.HeldNews;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory whose free must be tried again, because a node did not answer. */
class RetriedFreeTest {
    @TempDir(factory = InDevShm.class)
    Path root;

    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())));

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aFreeWhoseAnswerIsLostIsCompletedAndOneThatDidNotArriveHasNoEffectLater(boolean arrives) {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(1)) {
            HeldNews.Started started = HeldNews.start(cluster, cluster.config("n1"));
            LiteNode node = started.node();
            HeldNews news = started.news();
            cluster.awaitConnections();
            LmrServices lmrs = Inside.field(node, "lmrs", LmrServices.class);
            long before = node.figures().usage().allocatedBytes();
            LtMemory memory = node.attach("app").memory();
            LmrSpec spec = LmrSpec.of(1 << 20).withName("x").withPlacement(Placement.local());
            LmrHandle made = memory.malloc(spec);
            if (arrives) {
                news.loseNextAnswer();
            } else {
                news.delayNextChange();
            }

            assertThatExceptionOfType(LiteException.class).isThrownBy(made::free);

            Waits.until("it is settled", () -> lmrs.reclaimer().waiting() == 0);
            if (arrives) {
                assertThat(node.figures().usage().allocatedBytes()).isEqualTo(before);
                made = memory.malloc(spec);
            } else {
                assertThat(news.makeDelayedChange()).isFalse();
            }
            made.write(0, new byte[8]);
            made.free();
            assertThat(node.figures().usage().allocatedBytes()).isEqualTo(before);
        }
    }

    @Test
    void theNameOfAFreedLmrIsFreeAlthoughANodeWithItsMemoryIsGoneAndItsMemoryWhenTheNodeReturns() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            long before = cluster.node(1).figures().usage().allocatedBytes();
            LtMemory memory = cluster.attach(0).memory();
            LmrHandle named = memory.malloc(onN1("x"));
            LmrHandle anonymous = memory.malloc(onN1(null));
            LmrRecords records =
                    Inside.field(cluster.node(0), "lmrs", LmrServices.class).records();
            cluster.stop("n1");

            named.free();
            anonymous.free();

            Waits.until(
                    "the name is free",
                    () -> cluster.directory(0).read("x", Waits.seconds(5)).isEmpty());
            Waits.until("the other one is forgotten", () -> !records.hasAnonymous(anonymous.id()));
            LmrHandle next = memory.malloc(LmrSpec.of(64).withName("x").withPlacement(Placement.local()));
            cluster.start("n1");
            assertThat(cluster.node(1).figures().usage().allocatedBytes()).isGreaterThan(before);
            Waits.until(
                    "the memory is free",
                    () -> cluster.node(1).figures().usage().allocatedBytes() == before
                            && cluster.node(0).figures().usage().reclaiming() == 0);
            next.write(0, new byte[8]);
        }
    }

    private static LmrSpec onN1(@Nullable String name) {
        LmrSpec spec = LmrSpec.of(1 << 20).withPlacement(Placement.on("n1"));
        return name == null ? spec : spec.withName(name);
    }

    /** An application does that when the arena is full. It would never succeed if its attempts kept memory from being freed. */
    @Test
    void itIsFreedAlsoWhileAnApplicationTriesToAllocateAllTheTime() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            LiteNode node = cluster.node(0);
            long before = node.figures().usage().allocatedBytes();
            LmrHandle made = cluster.attach(0)
                    .memory()
                    .malloc(LmrSpec.of(1 << 20)
                            .withName("x")
                            .withPlacement(Placement.local())
                            .withDefaultPermissions(Permission.READ));
            cluster.attach(1).memory().map("x", Permission.READ);
            network.pause("n1");
            ((Mapping) made).free(Waits.seconds(0.2)); // continues in the background
            AtomicBoolean over = new AtomicBoolean();
            LtMemory memory = cluster.attach(0).memory();
            Thread allocating = Thread.ofPlatform().start(() -> {
                while (!over.get()) {
                    assertThatExceptionOfType(LimitExceededException.class)
                            .isThrownBy(() -> memory.malloc(LmrSpec.of(2 * TestCluster.ARENA_BYTES)));
                    Waits.pass(Duration.ofMillis(10));
                }
            });
            try {
                LmrServices lmrs = Inside.field(node, "lmrs", LmrServices.class);
                Queue<?> again = Inside.field(lmrs.reclaimer(), "again", Queue.class);
                Waits.until("an attempt has failed", () -> !again.isEmpty());
                network.resume("n1");

                Waits.until("the memory is free", () -> node.figures().usage().allocatedBytes() == before);
            } finally {
                over.set(true);
                Waits.join(allocating);
            }
        }
    }
}

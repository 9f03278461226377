package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Waits;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.Inside;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Memory whose free must be tried again, because a node did not answer. */
class RetriedFreeTest {
    @TempDir(factory = InDevShm.class)
    Path root;

    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())));

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

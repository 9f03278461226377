package dev.lite.tier.onesided;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.Seeds;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Late writes on a network whose steps the test controls. */
class AbandonedWriteTest {
    private static final int BYTES = 200_000;

    @TempDir(factory = InDevShm.class)
    Path root;

    /**
     * A write is abandoned at its deadline, and its handle is unmapped. Its bytes may still arrive at any time. So the memory must not be
     * allocated again before they have arrived or can no longer arrive.
     */
    @Test
    void theBytesOfAnAbandonedWriteNeverAppearInReallocatedMemory() {
        Seeds.forEach(12, random -> {
            SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(random.nextLong())
                    .withSteps()
                    .withDelay(Duration.ofNanos(1), Duration.ofMillis(1)));
            Path directory = root.resolve(Long.toHexString(random.nextLong()));
            try (Clock clock = new Clock(network);
                    TestCluster cluster = new TestCluster(directory, network.provider())) {
                cluster.start("n0");
                cluster.start(cluster.withDeadline("n1", Waits.seconds(0.1)));
                cluster.awaitConnections();
                LmrHandle master = cluster.attach(0)
                        .memory()
                        .malloc(LmrSpec.of(BYTES).withName("x").withDefaultPermissions(Permission.WRITE));
                LmrHandle mapped = cluster.attach(1).memory().map("x", Set.of(Permission.WRITE), Waits.seconds(20));
                clock.stop();
                byte[] ones = new byte[BYTES];
                Arrays.fill(ones, (byte) 1);
                assertThatExceptionOfType(LiteTimeoutException.class).isThrownBy(() -> mapped.write(0, ones));
                mapped.unmap();
                long allocated = cluster.node(0).figures().usage().allocatedBytes();
                Thread freeing = Thread.ofPlatform().start(master::free);
                while (cluster.node(0).figures().usage().allocatedBytes() == allocated) {
                    Waits.pass(Duration.ofMillis(2)); // for threads that react to the last step
                    network.step();
                }
                List<LmrHandle> next = takeAll(cluster.attach(0).memory());
                clock.go();
                Waits.join(freeing);
                Waits.pass(Duration.ofMillis(20));
                for (LmrHandle handle : next) {
                    byte[] content = new byte[BYTES];
                    handle.read(0, content);
                    assertThat(Arrays.mismatch(content, new byte[BYTES]))
                            .as("the first byte of a late write")
                            .isEqualTo(-1);
                }
            }
        });
    }

    /** Allocates all free memory, so that it includes the freed bytes. */
    private static List<LmrHandle> takeAll(LtMemory memory) {
        List<LmrHandle> all = new ArrayList<>();
        while (true) {
            try {
                all.add(memory.malloc(LmrSpec.of(BYTES)));
            } catch (LimitExceededException e) {
                return all;
            }
        }
    }

    /** Executes the network's steps on a separate thread. */
    private static final class Clock implements AutoCloseable {
        private final AtomicBoolean going = new AtomicBoolean(true);
        private final AtomicBoolean over = new AtomicBoolean();
        private final Thread thread;

        Clock(SimulatedNetwork network) {
            thread = Thread.ofPlatform().start(() -> {
                while (!over.get()) {
                    synchronized (going) {
                        if (going.get() && network.step()) {
                            continue;
                        }
                    }
                    Waits.pass(Duration.ofNanos(50_000));
                }
            });
        }

        void stop() {
            synchronized (going) {
                going.set(false);
            }
        }

        void go() {
            going.set(true);
        }

        @Override
        public void close() {
            over.set(true);
            Waits.join(thread);
        }
    }
}

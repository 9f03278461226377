package dev.lite.tier.onesided;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSlice;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Asynchronous transfers with a file that is truncated meanwhile: an access to its memory is an Error. */
class TruncatedFileTest {
    private static final int BYTES = 8192;

    @TempDir(factory = InDevShm.class)
    Path root;

    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())));

    @Test
    void aReadThatIsRepeatedAfterALostConnectionEndsWithAFailure() throws IOException {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2);
                FileChannel file = FileChannel.open(
                        root.resolve("file"),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE);
                Arena arena = Arena.ofShared()) {
            MemorySegment mapped = file.map(FileChannel.MapMode.READ_WRITE, 0, BYTES, arena);
            LmrHandle far = cluster.attach(0).memory().malloc(LmrSpec.of(BYTES).withPlacement(Placement.on("n1")));
            network.pause("n0");
            CompletableFuture<@Nullable Void> read = far.readAsync(List.of(new LmrSlice(0, mapped)));
            assertThat(file.truncate(0)).isSameAs(file);
            network.drop("n0", "n1");
            network.resume("n0");

            Waits.until("it has ended", read::isDone);

            assertThat(read).isCompletedExceptionally();
        }
    }
}

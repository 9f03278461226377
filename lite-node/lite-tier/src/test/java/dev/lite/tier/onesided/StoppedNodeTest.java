package dev.lite.tier.onesided;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.os.RawMemory;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.Inside;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StoppedNodeTest {
    @TempDir(factory = InDevShm.class)
    Path root;

    /** Else the thread, for example one that fetches a long request, reads memory that is not mapped, and ends the process. */
    @Test
    void aNodeThatStopsUnmapsItsMemoryOnlyWhenNoThreadUsesABuffer() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider())) {
            LiteNode node = cluster.start(cluster.config("n0"));
            PostedMemory posted = Inside.field(node, "posted", PostedMemory.class);
            BounceBuffers buffers = Inside.field(posted, "buffers", BounceBuffers.class);
            BounceBuffer used = Objects.requireNonNull(buffers.takeIfFree());

            Thread stop = Thread.ofPlatform().start(node::close);
            Waits.pass(Duration.ofMillis(300)); // for an unmapping that must not come
            assertThat(stop.isAlive()).isTrue();
            RawMemory.putLong(used.address, 42);
            assertThat(RawMemory.getLong(used.address)).isEqualTo(42);

            buffers.release(used);
            Waits.join(stop);
            assertThat(buffers.takeIfFree()).as("nobody can use one any more").isNull();
        }
    }
}

package dev.lite.tier.onesided;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Placement;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.os.RawMemory;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StoppedNodeTest {
    private static final Duration LONG = Waits.seconds(60);

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

    @Test
    void anOperationThatWaitsForAnAbsentNodeEndsWhenItsOwnNodeStops() {
        try (TestCluster cluster = new TestCluster(root, new TcpFabricProvider(), LONG).start(2)) {
            LmrHandle handle =
                    cluster.attach(0).memory().malloc(LmrSpec.of(4096).withPlacement(Placement.on("n1")));
            cluster.stop("n1");
            PeerLinks links = Inside.field(cluster.node(0), "links", PeerLinks.class);
            Waits.until("the connection has ended", () -> links.peer(1) == null);
            CompletableFuture<?> writing = CompletableFuture.runAsync(() -> handle.putLong(0, 1));
            ReentrantLock lock = Inside.field(Inside.field(links, "peers", Object.class), "lock", ReentrantLock.class);
            Condition changed = Inside.field(Inside.field(links, "peers", Object.class), "changed", Condition.class);
            Waits.until("the operation waits", () -> {
                lock.lock();
                try {
                    return lock.hasWaiters(changed);
                } finally {
                    lock.unlock();
                }
            });

            Thread stop = Thread.ofPlatform().start(() -> cluster.stop("n0"));

            assertThatThrownBy(writing::join)
                    .cause()
                    .isInstanceOf(NodeUnreachableException.class)
                    .hasMessageContaining("node n0 has no connection to node n1: it is stopping");
            Waits.join(stop);
        }
    }
}

package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcServer;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node is lost while it calls, and does not come back for a while. */
class LostCallersTest {
    private static final Duration LONG = Waits.seconds(60);

    @TempDir(factory = InDevShm.class)
    Path root;

    @Test
    void aServerReceivesTheNextCallAtOnceIfTheNodeIsLostWhoseLongRequestItReads() {
        SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(1));
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            Lite serving = cluster.attach(0);
            RpcServer server = serving.rpc().serve("f");
            CompletableFuture<byte[]> lost = cluster.attach(1).rpc().callAsync("n0", "f", new byte[20_000], LONG);
            awaitQueuedCalls(cluster, 1);
            CompletableFuture<byte[]> next = serving.rpc().callAsync("n0", "f", new byte[] {1}, LONG);
            awaitQueuedCalls(cluster, 2);
            network.pause("n0"); // it reads nothing any more
            network.pause("n1"); // it does not connect again
            try {
                CompletableFuture<RpcCall> receiving = new CompletableFuture<>();
                Thread.ofPlatform().daemon().start(() -> receiving.complete(server.receive(LONG)));
                awaitQueuedCalls(cluster, 1);
                network.drop("n0", "n1");
                network.resume("n0");
                Waits.until("the next call is received", Waits.seconds(3), receiving::isDone);
                receiving.join().reply(new byte[] {2});
                assertThat(next.join()).containsExactly(2);
            } finally {
                network.resume("n1");
            }
            assertThatThrownBy(lost::join).hasCauseInstanceOf(NodeUnreachableException.class);
        }
    }

    private static void awaitQueuedCalls(TestCluster cluster, int count) {
        RpcEngine engine = Inside.field(cluster.node(0), "rpc", RpcEngine.class);
        Waits.until("%d calls are queued".formatted(count), () -> engine.queuedCalls() == count);
    }
}

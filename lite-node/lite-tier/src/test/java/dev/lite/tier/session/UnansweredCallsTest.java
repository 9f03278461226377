package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
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
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls that an attached application has received when it ends. */
class UnansweredCallsTest {
    private static final Duration LONG = Waits.seconds(60);

    @TempDir(factory = InDevShm.class)
    Path root;

    @Test
    void theEndOfAnApplicationFailsTheCallsOfOneNodeWithoutWaitingForAnotherOneThatIsPaused() {
        SimulatedNetwork network =
                new SimulatedNetwork(SimulatedOptions.seeded(1).withQueueDepth(8));
        int count = 24; // more than the connection takes while the other node does not run
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(3);
                SessionServer server =
                        new SessionServer(SessionServerConfig.of(root.resolve("n1.sock")), cluster.node(1))) {
            server.start();
            Lite application = Lite.attach(AttachOptions.to(server.socket(), "app"));
            RpcServer function = application.rpc().serve("f");
            List<RpcCall> received = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                CompletableFuture<byte[]> unused = cluster.attach(0).rpc().callAsync("n1", "f", new byte[8], LONG);
            }
            while (received.size() < count) {
                received.add(function.receive(LONG));
            }
            CompletableFuture<byte[]> last = cluster.attach(2).rpc().callAsync("n1", "f", new byte[8], LONG);
            received.add(function.receive(LONG));
            network.pause("n0");
            try {
                Map<?, ?> sessions = Inside.field(server, "connections", Map.class);
                sessions.keySet().forEach(session -> ((NodeSession) session).drop("as if its process had died"));

                assertThat(last).failsWithin(Waits.seconds(4)).withThrowableOfType(ExecutionException.class);
                Waits.until("the session has ended", Waits.seconds(4), sessions::isEmpty);
            } finally {
                network.resume("n0");
            }
        }
    }
}

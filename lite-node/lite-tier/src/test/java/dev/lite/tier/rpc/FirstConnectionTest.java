package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcServer;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.cluster.NodeAdvert;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import dev.lite.tier.testing.WatchedDriver;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls to a node with which no connection was made yet. */
class FirstConnectionTest {
    private static final Duration DEADLINE = Waits.seconds(20);

    @TempDir(factory = InDevShm.class)
    Path root;

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCallWaitsForTheFirstConnection(boolean atAnyNode) {
        CountDownLatch mayConnect = new CountDownLatch(1);
        WatchedDriver held = new WatchedDriver(new TcpFabricProvider(), (node, accepted, report) -> {
            Waits.await(mayConnect);
            report.run();
        });
        try (TestCluster cluster = new TestCluster(root, held, DEADLINE)) {
            RpcServer server = cluster.start("n0").attach("server").rpc().serve("f");
            LtRpc rpc = cluster.start("n1").attach("app").rpc();
            Waits.until("n1 knows n0", () -> cluster.directory(1).nodes().size() == 2);
            RpcClient client = atAnyNode ? rpc.bindAny("f") : rpc.bind("n0", "f");
            AtomicReference<byte @Nullable []> reply = new AtomicReference<>();
            Thread caller = Thread.ofPlatform().start(() -> reply.set(client.call(new byte[] {7}, DEADLINE)));
            Waits.until("the caller waits", () -> caller.getState() == Thread.State.TIMED_WAITING);

            mayConnect.countDown();

            RpcCall call = server.receive(DEADLINE);
            call.reply(new byte[] {8});
            Waits.join(caller);
            assertThat(reply.get()).containsExactly(8);
        } finally {
            mayConnect.countDown();
        }
    }

    /** The node with the higher id makes the connection. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCallToANodeThatCannotBeConnectedFailsLongBeforeItsDeadline(boolean hasLowerId) {
        try (TestCluster cluster = new TestCluster(root, new TcpFabricProvider(), DEADLINE);
                InMemoryDirectory directory = cluster.store().open()) {
            if (hasLowerId) {
                registerNobody(directory);
            }
            Lite app = cluster.start("n0").attach("app");
            if (!hasLowerId) {
                registerNobody(directory);
            }
            RpcClient client = app.rpc().bind("nobody", "f");
            Deadline deadline = Deadline.in(DEADLINE);

            assertThatThrownBy(() -> client.call(new byte[1], DEADLINE))
                    .isInstanceOf(NodeUnreachableException.class)
                    .hasMessageContaining("node n0 has no connection to node nobody")
                    .hasMessageContaining(hasLowerId ? "127.0.0.1:1" : "none was made yet");

            assertThat(deadline.passed()).isFalse();
        }
    }

    private static void registerNobody(InMemoryDirectory directory) {
        NodeAdvert nobody =
                new NodeAdvert("nobody", NodeAdvert.NO_ID, "elsewhere", 1 << 20, Map.of("tcp", "127.0.0.1:1"));
        assertThat(directory.register(nobody, DEADLINE).name()).isEqualTo("nobody");
    }
}

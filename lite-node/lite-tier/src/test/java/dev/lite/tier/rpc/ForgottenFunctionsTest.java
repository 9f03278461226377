package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.Lite;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcServer;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node forgets the names of functions that nobody serves and nobody is bound to. */
class ForgottenFunctionsTest {
    private static final int NAMES = RpcEngine.FUNCTIONS_MAX + 500;
    private static final Duration LONG = Waits.seconds(20);

    @TempDir(factory = InDevShm.class)
    Path root;

    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())));

    private static RpcEngine rpc(LiteNode node) {
        return Inside.field(node, "rpc", RpcEngine.class);
    }

    private static int functions(LiteNode node) {
        return Inside.field(rpc(node), "functions", Map.class).size();
    }

    private static int bindings(LiteNode node) {
        return Inside.field(rpc(node), "bindings", RpcBindings.class).count();
    }

    @Test
    void moreFunctionsThanTheLimitAreServedAndCalledAtOneNodeOneAfterTheOther() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(1);
                Lite lite = cluster.attach(0)) {
            for (int name = 0; name < NAMES; name++) {
                byte[] request = {(byte) name};
                RpcServer server = lite.rpc().register("order-" + name, 1, RpcCall::request);
                assertThat(lite.rpc().call("n0", "order-" + name, request, LONG))
                        .isEqualTo(request);
                server.close();
            }
            assertThat(functions(cluster.node(0))).isZero();
        }
    }

    @Test
    void moreFunctionsThanTheLimitAreAskedForThatNobodyServes() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2);
                Lite lite = cluster.attach(0)) {
            for (int name = 0; name < NAMES; name++) {
                String function = "order-" + name;
                assertThatExceptionOfType(RpcFailedException.class)
                        .isThrownBy(() -> lite.rpc().call("n1", function, new byte[1], LONG))
                        .withMessageContaining(function);
            }
            assertThat(functions(cluster.node(1))).isZero();
            assertThat(bindings(cluster.node(0))).isZero();
        }
    }

    @Test
    void functionsOfALostConnectionAreForgotten() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2);
                Lite caller = cluster.attach(0);
                Lite server = cluster.attach(1)) {
            for (int name = 0; name < 100; name++) {
                RpcServer serving = server.rpc().register("order-" + name, 1, RpcCall::request);
                assertThat(caller.rpc().call("n1", "order-" + name, new byte[1], LONG))
                        .hasSize(1);
                serving.close();
            }

            network.drop("n0", "n1");

            Waits.until("the server's node forgets them", () -> functions(cluster.node(1)) == 0);
            Waits.until("the caller's node forgets them", () -> bindings(cluster.node(0)) == 0);
        }
    }

    /** Else callers that stay bound to functions that were closed keep all others from serving. */
    @Test
    void functionsThatNobodyServesCountForNoLimitThoughNodesAreBoundToThem() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(1);
                Lite lite = cluster.attach(0)) {
            bindToClosedFunctions(rpc(cluster.node(0)));
            try (RpcServer server = lite.rpc().register("order", 1, RpcCall::request)) {
                assertThat(server.function()).isEqualTo("order");
                assertThat(lite.rpc().call("n0", "order", new byte[1], LONG)).hasSize(1);
            }
            assertThat(functions(cluster.node(0))).isEqualTo(RpcEngine.FUNCTIONS_MAX);
        }
    }

    /** As calling nodes do with a ring for each; so many need a large arena. */
    @SuppressWarnings("unchecked")
    private static void bindToClosedFunctions(RpcEngine rpc) {
        Map<String, RpcFunction> functions = Inside.field(rpc, "functions", Map.class);
        for (int name = 0; name < RpcEngine.FUNCTIONS_MAX; name++) {
            RpcFunction closed = new RpcFunction("closed-" + name, rpc);
            closed.rings = 1;
            functions.put(closed.name, closed);
        }
    }
}

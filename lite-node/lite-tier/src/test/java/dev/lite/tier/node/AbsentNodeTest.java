package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.testing.Waits;
import dev.lite.tier.node.EveryOperationTest.OverFabric;
import dev.lite.tier.session.SessionServer;
import dev.lite.tier.session.SessionServerConfig;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What callers get of a node that is not in the cluster. They allocate nothing, so there are no layouts. */
class AbsentNodeTest {
    private static final long ID_OF_NODE_7 = 7L << 53;

    @TempDir(factory = InDevShm.class)
    Path root;

    @ParameterizedTest
    @MethodSource("dev.lite.tier.node.EveryOperationTest#fabrics")
    void anUnknownIdOfAnAbsentNodeCannotBeMapped(OverFabric fabric) {
        try (TestCluster cluster = new TestCluster(root, fabric.open()).start(3);
                SessionServer server =
                        new SessionServer(SessionServerConfig.of(root.resolve("n0.sock")), cluster.node(0));
                Lite embedded = cluster.attach(0)) {
            assertUnreachable(embedded, Waits.seconds(0.4));
            server.start();
            try (Lite attached = Lite.attach(AttachOptions.to(server.socket(), "app"))) {
                // The node answers a fifth before the caller's deadline: enough time for a busy machine.
                assertUnreachable(attached, Waits.seconds(2));
            }
        }
    }

    private static void assertUnreachable(Lite caller, Duration deadline) {
        assertThatThrownBy(() -> caller.memory().map(ID_OF_NODE_7, Set.of(Permission.READ), deadline))
                .isInstanceOf(NodeUnreachableException.class);
    }
}

package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Extent;
import dev.lite.api.Lite;
import dev.lite.api.LmrExistsException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.embedded.EmbeddedNode;
import dev.lite.testing.Waits;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An application closes its node and continues: the cluster does not wait for that node any more. */
@ExtendWith(SharedClusters.Resolver.class)
class ClosedEmbeddedNodeTest {
    @ParameterizedTest
    @ValueSource(strings = {"shm", "tcp"})
    void movesAndFreesDoNotWaitForIt(String fabric, SharedClusters clusters) {
        String name = "closed-embedded/" + fabric;
        try (SharedClusters.Borrowed borrowed = clusters.borrow(fabric);
                Lite app = Clusters.attach(borrowed.cluster(), 1)) {
            LmrHandle moving = app.memory()
                    .malloc(LmrSpec.of(4096)
                            .withName(name)
                            .withPlacement(Placement.on("node-1"))
                            .withDefaultPermissions(Permission.ATOMIC));
            try (EmbeddedNode node = EmbeddedNode.start(
                            borrowed.embedded("closed").arenaBytes(16 << 20).build());
                    Lite lite = node.attach("app")) {
                assertThat(lite.memory().map(name, Permission.ATOMIC).fetchAdd(0, 1))
                        .isZero();
            }

            moving.moveTo("node-2");

            assertThat(moving.extents()).extracting(Extent::node).containsExactly("node-2");
            moving.free();
            Waits.until("the name is free", () -> isFree(app, name));
        }
    }

    private static boolean isFree(Lite app, String name) {
        try {
            app.memory().malloc(LmrSpec.of(8).withName(name)).free();
            return true;
        } catch (LmrExistsException e) {
            return false;
        }
    }
}

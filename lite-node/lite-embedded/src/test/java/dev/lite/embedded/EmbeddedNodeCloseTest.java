package dev.lite.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Placement;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.testing.Waits;
import org.junit.jupiter.api.Test;

class EmbeddedNodeCloseTest {

    /** As when a shutdown hook and the application close it. */
    @Test
    void aSecondCloseDoesNotEndTheNodeWhileTheFirstOneMovesItsMemory() {
        EmbeddedNodeConfig.Builder config =
                EmbeddedNodeConfig.builder().arenaBytes(64 << 20).secret(EmbeddedNode.newSecret());
        String cluster = config.build().cluster();
        InMemoryDirectory.Store store = new InMemoryDirectory.Store();
        try (EmbeddedNode staying = EmbeddedNode.start(
                        config.cluster(cluster).name("node-1").build(), store::open);
                EmbeddedNode leaving = EmbeddedNode.start(
                        config.cluster(cluster).name("node-2").build(), store::open);
                Lite lite = staying.attach("tool")) {
            Waits.until(
                    "the nodes are connected",
                    () -> lite.nodes().size() == 2
                            && lite.nodes().stream().map(NodeInfo::fabric).noneMatch("none"::equals));
            LmrHandle table =
                    lite.memory().malloc(LmrSpec.of(32 << 20).withName("table").withPlacement(Placement.on("node-2")));
            table.putLong(0, 42);
            Thread first = Thread.ofPlatform().start(leaving::close);
            Waits.until(
                    "it moves memory, or has moved it",
                    () -> first.getState() == Thread.State.TIMED_WAITING
                            || first.getState() == Thread.State.TERMINATED);
            Waits.join(Thread.ofPlatform().start(leaving::close));
            Waits.join(first);
            assertThat(table.extents()).allMatch(extent -> extent.node().equals("node-1"));
            assertThat(table.getLong(0)).isEqualTo(42);
        }
    }
}

package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node that restarted with a new arena. */
class NewArenaTest {
    @TempDir(factory = InDevShm.class)
    Path root;

    /** An LMR may be mapped, or move there, while the connection is still missing. */
    @Test
    void handlesOnItsNewMemoryStayUsableWhenItsConnectionComesLater() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2)) {
            LmrHandle there = cluster.attach(0).memory().malloc(LmrSpec.of(64).withPlacement(Placement.on("n1")));
            MappingChanges changes =
                    Inside.field(cluster.node(0), "lmrs", LmrServices.class).changes();
            Peer peer = Objects.requireNonNull(
                    Inside.field(cluster.node(0), "links", PeerLinks.class).peer(1));
            knowFormerArena(changes);

            changes.peerConnected(peer);

            assertThat(there.fetchAdd(0, 1)).isZero();
        }
    }

    @SuppressWarnings("unchecked")
    private static void knowFormerArena(MappingChanges changes) {
        Map<Integer, UUID> known = Inside.field(changes, "arenaIds", Map.class);
        synchronized (known) {
            known.put(1, UUID.randomUUID());
        }
    }
}

package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lifetime;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.cluster.LmrRecord;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node that restarted with a new arena. */
class NewArenaTest {
    private static final int BYTES = 1 << 16;

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

    /** In a new arena the names of extents begin again: an LMR may get the same bytes by the same name. */
    @Test
    void aLateFreeOfMemoryInItsFormerArenaDoesNotFreeWhatTheLmrHasInItsNewOne() throws IOException {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2)) {
            LmrHandle returned = cluster.attach(0)
                    .memory()
                    .malloc(LmrSpec.of(BYTES).withPlacement(Placement.on("n1")).withLifetime(Lifetime.UNTIL_FREED));
            LmrRecord former = ((Mapping) returned).lmr();
            returned.moveTo("n0");
            cluster.stop("n1");
            Files.delete(cluster.arenas().resolve("c").resolve("n1").resolve("arena"));
            cluster.start("n1");
            cluster.awaitConnections();
            returned.moveTo("n1");
            assertThat(((Mapping) returned).lmr().shares().getFirst().runs())
                    .isEqualTo(former.shares().getFirst().runs());
            long before = cluster.node(1).figures().usage().allocatedBytes();

            Reclaimer reclaimer =
                    Inside.field(cluster.node(0), "lmrs", LmrServices.class).reclaimer();
            reclaimer.giveBackLater(former);
            Waits.until("the free was carried out", () -> reclaimer.waiting() == 0);

            assertThat(cluster.node(1).figures().usage().allocatedBytes()).isEqualTo(before);
            returned.free();
            Waits.until(
                    "a free in the new arena frees",
                    () -> cluster.node(1).figures().usage().allocatedBytes() == before - BYTES);
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

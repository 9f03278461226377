package dev.lite.tier.onesided;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.tier.memory.ArenaConfig;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.Hello;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.testing.InDevShm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the memories over different lanes of the same connections share. */
class PostedMemoryTest {
    @TempDir(factory = InDevShm.class)
    Path root;

    @Test
    void threadsPollForTransfersOverAllLanes() throws IOException {
        Path run = Files.createDirectories(root.resolve("run"));
        NodeArena arena = NodeArena.open(
                new ArenaConfig(root, "c", "n0", ArenaConfig.BYTES_MIN, 64, 4, ArenaConfig.Kept.AFTER_CRASH));
        Hello hello = new Hello("c", 0, "n0", 1, arena.id(), arena.controlOffset(), arena.peersMax());
        PeerLinks links = new PeerLinks(
                hello,
                "host",
                List.of(new ShmFabricProvider()),
                new FabricConfig("n0", hello.encode(), run, Map.of()),
                Map.of(),
                new FabricMemory(arena.segment(), arena.descriptor()),
                100);
        try {
            PostedMemory whole = new PostedMemory(links, arena.address());
            assertThat(whole.onLanes(connection -> connection).polling()).isSameAs(whole.polling());
        } finally {
            links.close();
            arena.close();
        }
    }
}

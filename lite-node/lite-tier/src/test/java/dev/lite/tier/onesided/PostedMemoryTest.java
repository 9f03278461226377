package dev.lite.tier.onesided;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.tier.memory.ArenaAllocator;
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
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The bounce buffers in arenas of several sizes, and what the memories over different lanes of the same connections share. */
class PostedMemoryTest {
    private static final long LMR = 7;

    @TempDir(factory = InDevShm.class)
    Path root;

    private void withArena(long bytes, BiConsumer<NodeArena, PeerLinks> test) throws IOException {
        Path run = Files.createDirectories(root.resolve("run"));
        NodeArena arena = NodeArena.open(new ArenaConfig(root, "c", "n0", bytes, 64, 4, ArenaConfig.Kept.AFTER_CRASH));
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
            test.accept(arena, links);
        } finally {
            links.close();
            arena.close();
        }
    }

    @Test
    void threadsPollForTransfersOverAllLanes() throws IOException {
        withArena(ArenaConfig.BYTES_MIN, (arena, links) -> {
            PostedMemory whole = new PostedMemory(links, arena, new ArenaAllocator(arena, "n0"));
            assertThat(whole.onLanes(connection -> connection).polling()).isSameAs(whole.polling());
        });
    }

    @ParameterizedTest
    @CsvSource({"4, 32", "63, 32", "64, 64", "256, 64"})
    void moreThan32BounceBuffersTakeASixteenthOfTheArenaAtMost(long megabytes, int count) throws IOException {
        withArena(megabytes << 20, (arena, links) -> {
            ArenaAllocator allocator = new ArenaAllocator(arena, "n0");
            assertThat(new PostedMemory(links, arena, allocator).buffers()).isEqualTo(count);
            assertThat(allocator.allocatedBytes()).isEqualTo((long) count * PostedMemory.BUFFER_BYTES);
        });
    }

    @Test
    void aFullArenaOfAProcessThatHadOnly32BuffersIsAdoptedWith32() throws IOException {
        withArena(64 << 20, (arena, links) -> {
            ArenaAllocator allocator = new ArenaAllocator(arena, "n0");
            long free = 3 << 20;
            assertThat(allocator.allocate(LMR, allocator.dataBytes() - free, 1, 1))
                    .hasSize(1);
            assertThat(new PostedMemory(links, arena, allocator).buffers()).isEqualTo(32);
        });
    }
}

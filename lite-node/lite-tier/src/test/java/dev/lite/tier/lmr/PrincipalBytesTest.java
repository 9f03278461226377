package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.ArenaConfig;
import dev.lite.tier.memory.ExtentRun;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.testing.InDevShm;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The bytes that a principal has in an arena that a process adopted. */
class PrincipalBytesTest {
    private static final long ID = 7;
    private static final int BYTES = 1 << 16;

    @TempDir(factory = InDevShm.class)
    Path root;

    /** A record of an LMR that moves has such a share twice: where it is, and where it will be. */
    @Test
    void aShareThatStaysWhileTheRestOfItsLmrMovesIsCountedOnce() {
        ArenaConfig config = new ArenaConfig(root, "test", "n0", 4 << 20, 64, 4, ArenaConfig.Kept.NEVER);
        try (NodeArena arena = NodeArena.open(config)) {
            ArenaAllocator allocator = new ArenaAllocator(arena, "n0");
            ExtentRun extent = allocator.allocate(ID, BYTES, 1, 1).getFirst();
            Run run = new Run(extent.offset(), extent.length(), extent.entry());
            PrincipalBytes bytes = new PrincipalBytes("n0", allocator, 1 << 20);
            LmrRecord lmr = new LmrRecord(
                    ID,
                    LmrRecord.State.LIVE,
                    BYTES,
                    16,
                    "alice",
                    0,
                    Map.of(),
                    List.of(new Share(0, arena.id(), List.of(run))),
                    null);

            bytes.adopt(lmr, List.of(run, run));

            assertThat(bytes.of("alice")).isEqualTo(BYTES);
            assertThat(bytes.free(ID, extent)).isTrue();
            assertThat(bytes.of("alice")).isZero();
            allocator.close();
        }
    }
}

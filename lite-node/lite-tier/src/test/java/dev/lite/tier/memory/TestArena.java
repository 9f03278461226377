package dev.lite.tier.memory;

import dev.lite.os.RawMemory;
import java.nio.file.Path;

/** Arenas for tests, and patterns for their contents. */
final class TestArena {
    static final String CLUSTER = "test";
    static final String NODE = "n0";

    private TestArena() {}

    static ArenaConfig config(Path root, long bytes, int extentsMax) {
        return new ArenaConfig(root, CLUSTER, NODE, bytes, extentsMax, 4, ArenaConfig.Kept.ALWAYS);
    }

    static Path file(Path root) {
        return root.resolve(CLUSTER).resolve(NODE).resolve("arena");
    }

    static boolean isZero(NodeArena arena, ExtentRun run) {
        long address = arena.address() + run.offset();
        for (long at = 0; at < run.length(); at += Long.BYTES) {
            if (RawMemory.getLong(address + at) != 0) {
                return false;
            }
        }
        return true;
    }

    /** A pattern that is unique to its owner. */
    static void fill(NodeArena arena, ExtentRun run, long owner) {
        long address = arena.address() + run.offset();
        for (long at = 0; at < run.length(); at += Long.BYTES) {
            RawMemory.putLong(address + at, word(owner, run.offset() + at));
        }
    }

    static boolean isFilled(NodeArena arena, ExtentRun run, long owner) {
        long address = arena.address() + run.offset();
        for (long at = 0; at < run.length(); at += Long.BYTES) {
            if (RawMemory.getLong(address + at) != word(owner, run.offset() + at)) {
                return false;
            }
        }
        return true;
    }

    private static long word(long owner, long offset) {
        return (owner << 32 ^ offset) * 0x9E3779B97F4A7C15L | 1;
    }
}

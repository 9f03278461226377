package dev.lite.tier.memory;

import dev.lite.api.LmrBoundsException;
import dev.lite.api.Permission;
import dev.lite.os.InFlight;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.memory.MappedLmr.Moving;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * Reads and writes of words of a {@link Mapping}. In mapped memory they are one load or store, and allocate nothing; otherwise they
 * are transfers of 4 or 8 bytes. Any thread.
 */
final class WordOperations {
    private static final int READ = Permission.READ.bit();
    private static final int WRITE = Permission.WRITE.bit();

    private WordOperations() {}

    static long getLong(Mapping mapping, boolean low, long offset) {
        requireAligned("getLong", mapping, offset, Long.BYTES);
        Deadline begun = mapping.admitWord(low, READ, offset, Long.BYTES);
        try {
            long slot = InFlight.enter(mapping.number(low));
            try {
                long address = mapping.wordAddress(READ, offset, Long.BYTES);
                if (address != 0) {
                    VarHandle.loadLoadFence(); // what this thread read before was read before the word
                    return RawMemory.getLongAcquire(address);
                }
            } finally {
                InFlight.exit(slot);
            }
        } catch (Moving paused) {
            // The transfer waits for the end of the move.
        }
        long[] word = new long[1];
        mapping.read(low, offset, MemorySegment.ofArray(word), 0, Long.BYTES, begun, 0);
        VarHandle.acquireFence();
        return word[0];
    }

    static void putLong(Mapping mapping, boolean low, long offset, long value) {
        requireAligned("putLong", mapping, offset, Long.BYTES);
        Deadline begun = mapping.admitWord(low, WRITE, offset, Long.BYTES);
        try {
            long slot = InFlight.enter(mapping.number(low));
            try {
                long address = mapping.wordAddress(WRITE, offset, Long.BYTES);
                if (address != 0) {
                    RawMemory.putLongRelease(address, value);
                    return;
                }
            } finally {
                InFlight.exit(slot);
            }
        } catch (Moving paused) {
            // The transfer waits for the end of the move.
        }
        VarHandle.releaseFence();
        mapping.write(low, offset, MemorySegment.ofArray(new long[] {value}), 0, Long.BYTES, begun, 0);
    }

    static int getInt(Mapping mapping, boolean low, long offset) {
        requireAligned("getInt", mapping, offset, Integer.BYTES);
        Deadline begun = mapping.admitWord(low, READ, offset, Integer.BYTES);
        try {
            long slot = InFlight.enter(mapping.number(low));
            try {
                long address = mapping.wordAddress(READ, offset, Integer.BYTES);
                if (address != 0) {
                    VarHandle.loadLoadFence(); // what this thread read before was read before the word
                    return RawMemory.getIntAcquire(address);
                }
            } finally {
                InFlight.exit(slot);
            }
        } catch (Moving paused) {
            // The transfer waits for the end of the move.
        }
        int[] word = new int[1];
        mapping.read(low, offset, MemorySegment.ofArray(word), 0, Integer.BYTES, begun, 0);
        VarHandle.acquireFence();
        return word[0];
    }

    static void putInt(Mapping mapping, boolean low, long offset, int value) {
        requireAligned("putInt", mapping, offset, Integer.BYTES);
        Deadline begun = mapping.admitWord(low, WRITE, offset, Integer.BYTES);
        try {
            long slot = InFlight.enter(mapping.number(low));
            try {
                long address = mapping.wordAddress(WRITE, offset, Integer.BYTES);
                if (address != 0) {
                    RawMemory.putIntRelease(address, value);
                    return;
                }
            } finally {
                InFlight.exit(slot);
            }
        } catch (Moving paused) {
            // The transfer waits for the end of the move.
        }
        VarHandle.releaseFence();
        mapping.write(low, offset, MemorySegment.ofArray(new int[] {value}), 0, Integer.BYTES, begun, 0);
    }

    private static void requireAligned(String what, Mapping mapping, long offset, int bytes) {
        if ((offset & (bytes - 1)) != 0) {
            throw LmrBoundsException.notAligned(what, mapping, offset, bytes);
        }
    }
}

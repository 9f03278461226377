package dev.lite.tier.memory;

import dev.lite.api.LmrBoundsException;
import dev.lite.api.Permission;
import dev.lite.os.InFlight;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.memory.MappedLmr.Moving;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

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
        boolean asks = mapping.asksForWord(low);
        Deadline begun = asks ? mapping.admit(low, READ, offset, Long.BYTES, null, 0) : null;
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
        read(mapping, low, asks, offset, MemorySegment.ofArray(word), begun);
        VarHandle.acquireFence();
        return word[0];
    }

    static void putLong(Mapping mapping, boolean low, long offset, long value) {
        requireAligned("putLong", mapping, offset, Long.BYTES);
        boolean asks = mapping.asksForWord(low);
        Deadline begun = asks ? mapping.admit(low, WRITE, offset, Long.BYTES, null, 0) : null;
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
        write(mapping, low, asks, offset, MemorySegment.ofArray(new long[] {value}), begun);
    }

    static int getInt(Mapping mapping, boolean low, long offset) {
        requireAligned("getInt", mapping, offset, Integer.BYTES);
        boolean asks = mapping.asksForWord(low);
        Deadline begun = asks ? mapping.admit(low, READ, offset, Integer.BYTES, null, 0) : null;
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
        read(mapping, low, asks, offset, MemorySegment.ofArray(word), begun);
        VarHandle.acquireFence();
        return word[0];
    }

    static void putInt(Mapping mapping, boolean low, long offset, int value) {
        requireAligned("putInt", mapping, offset, Integer.BYTES);
        boolean asks = mapping.asksForWord(low);
        Deadline begun = asks ? mapping.admit(low, WRITE, offset, Integer.BYTES, null, 0) : null;
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
        write(mapping, low, asks, offset, MemorySegment.ofArray(new int[] {value}), begun);
    }

    /**
     * Reads a word that is not in mapped memory, or moved.
     *
     * @param asked whether the operation has asked already: it does so once
     */
    private static void read(
            Mapping mapping, boolean low, boolean asked, long offset, MemorySegment word, @Nullable Deadline begun) {
        if (asked) {
            mapping.readAdmitted(low, offset, word, 0, word.byteSize(), begun, 0);
        } else {
            mapping.read(low, offset, word, 0, word.byteSize(), begun, 0);
        }
    }

    /** Likewise. */
    private static void write(
            Mapping mapping, boolean low, boolean asked, long offset, MemorySegment word, @Nullable Deadline begun) {
        if (asked) {
            mapping.writeAdmitted(low, offset, word, 0, word.byteSize(), begun, 0);
        } else {
            mapping.write(low, offset, word, 0, word.byteSize(), begun, 0);
        }
    }

    private static void requireAligned(String what, Mapping mapping, long offset, int bytes) {
        if ((offset & (bytes - 1)) != 0) {
            throw LmrBoundsException.notAligned(what, mapping, offset, bytes);
        }
    }
}

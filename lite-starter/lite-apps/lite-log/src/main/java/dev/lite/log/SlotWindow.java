package dev.lite.log;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * A copy of some adjacent commit words of a segment. Words that are 0 may have changed since. One thread.
 *
 * <p>A read of several words does not promise that each is untorn. A torn word is none that a writer sets, or fails the checksum of its
 * entries; the reader then reads the word again by itself.
 */
final class SlotWindow {
    private static final int WORDS_MIN = 8;
    static final int WORDS_MAX = 512;

    private final MemorySegment words = Arena.ofAuto().allocate(WORDS_MAX * 8L, 64);
    private long segment = -1;
    private int from;
    private int count;
    private int next = WORDS_MIN;

    void clear() {
        segment = -1;
        count = 0;
    }

    boolean contains(long number, int slot) {
        return segment == number && slot >= from && slot < from + count;
    }

    /** The word of a slot that the window contains. */
    long word(int slot) {
        return words.getAtIndex(ValueLayout.JAVA_LONG, slot - from);
    }

    /** Reads the words from a slot on: more after a window that was used up, few when the reader is at the end of the log. */
    void load(Segment source, int slot) {
        boolean follows = segment == source.number && slot == from + count;
        next = follows ? Math.min(WORDS_MAX, 4 * next) : WORDS_MIN;
        count = 0;
        int words = Math.min(next, source.geometry.slots() - slot);
        source.readWords(slot, this.words.asSlice(0, words * 8L));
        VarHandle.acquireFence(); // the data is read after the words
        segment = source.number;
        from = slot;
        count = words;
    }

    /** Replaces a slot's word. */
    void set(int slot, long word) {
        words.setAtIndex(ValueLayout.JAVA_LONG, slot - from, word);
    }
}

package dev.lite.tier.memory;

import dev.lite.os.RawMemory;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The words of locks and barriers, many to an extent. A page of words is an extent of {@link #OWNER}. It consists of slots
 * of {@value #SLOT_BYTES} bytes, a cache line each: the word, then the id of the LMR that the slot belongs to. The id is
 * negated while the slot is free, or 0 if nobody has had it. The page itself is the source of truth; every start reads
 * which slots are taken.
 *
 * <p>Crashes: one store of the id takes a slot, after the word is zeroed, and one store of the id frees it. So a process
 * that ends between any two stores leaves a slot that is taken, with a valid word, or one that is free.
 *
 * <p>Invariant: while a page lasts, an LMR does not get the slot that it gave back, unless another LMR has had it in
 * between. A node that lost the answer to its message that frees a word repeats the message; the word may have moved here
 * again meanwhile. The second message must not free it, and finds no slot of that LMR at that place.
 *
 * <p>Memory: a bit for each slot. Not thread-safe: the allocator's lock guards it.
 */
final class WordPages {
    /** The LMR id of pages. No LMR has it, because ids are positive. */
    static final long OWNER = -1;

    /** The bytes of a page, if the arena has such a run. */
    static final long PAGE_BYTES = 64 << 10;

    static final long SLOT_BYTES = 64;
    static final long WORD_BYTES = Long.BYTES;

    private static final long AT_ID = WORD_BYTES;

    private final long base;
    private final Map<Integer, Page> pages = new HashMap<>(); // by the name of the extent
    private final TreeMap<Integer, Page> withRoom = new TreeMap<>(); // those with a free slot
    private int unused; // pages without a word

    private static final class Page {
        final ExtentRun run;
        final BitSet taken;
        int words;

        Page(ExtentRun run) {
            this.run = run;
            this.taken = new BitSet(slots());
        }

        int slots() {
            return (int) (run.length() / SLOT_BYTES);
        }

        long offset(int slot) {
            return run.offset() + slot * SLOT_BYTES;
        }
    }

    /** @param base the address of the arena's byte 0 */
    WordPages(long base) {
        this.base = base;
    }

    /** Adds a page: a new one, which is all zero, or one of an earlier process. */
    void add(ExtentRun run) {
        Page page = new Page(run);
        for (int slot = 0; slot < page.slots(); slot++) {
            if (id(page.offset(slot)) > 0) {
                page.taken.set(slot);
            }
        }
        page.words = page.taken.cardinality();
        pages.put(run.entry(), page);
        if (page.words < page.slots()) {
            withRoom.put(run.entry(), page);
        }
        if (page.words == 0) {
            unused++;
        }
    }

    /** Whether an extent with pages' owner has no word. */
    static boolean isUnused(long base, ExtentRun run) {
        for (long at = 0; at < run.length(); at += SLOT_BYTES) {
            if (idAt(base + run.offset() + at) > 0) {
                return false;
            }
        }
        return true;
    }

    /** Takes a slot for an LMR, its word 0; null if no page has a slot for it. */
    @Nullable
    ExtentRun take(long lmrId) {
        if (lmrId <= 0) {
            throw new IllegalArgumentException("LMR %d cannot have a word: ids are positive".formatted(lmrId));
        }
        for (Page page : withRoom.values()) {
            int slot = freeSlot(page, lmrId);
            if (slot < page.slots()) {
                return take(page, slot, lmrId);
            }
        }
        return null;
    }

    /** The first free slot that this LMR did not have last. */
    private int freeSlot(Page page, long lmrId) {
        int slot = page.taken.nextClearBit(0);
        while (slot < page.slots() && id(page.offset(slot)) == -lmrId) {
            slot = page.taken.nextClearBit(slot + 1);
        }
        return slot;
    }

    private ExtentRun take(Page page, int slot, long lmrId) {
        long offset = page.offset(slot);
        RawMemory.putLong(base + offset, 0);
        RawMemory.putLongRelease(base + offset + AT_ID, lmrId);
        page.taken.set(slot);
        if (page.words == 0) {
            unused--;
        }
        page.words++;
        if (page.words == page.slots()) {
            withRoom.remove(page.run.entry());
        }
        return word(page, slot);
    }

    private static ExtentRun word(Page page, int slot) {
        return new ExtentRun(page.offset(slot), WORD_BYTES, page.run.entry());
    }

    /** Whether this LMR has a word at this offset, in the page of this name. */
    boolean holds(long lmrId, int name, long offset) {
        return lmrId > 0 && isSlot(pages.get(name), offset) && id(offset) == lmrId;
    }

    private static boolean isSlot(@Nullable Page page, long offset) {
        if (page == null) {
            return false;
        }
        long at = offset - page.run.offset();
        return at >= 0 && at < page.run.length() && at % SLOT_BYTES == 0;
    }

    /** Frees a slot; false if this LMR has no such slot. Call {@link #removeSpare} afterwards. */
    boolean free(long lmrId, int name, long offset) {
        Page page = pages.get(name);
        if (page == null || !holds(lmrId, name, offset)) {
            return false;
        }
        RawMemory.putLongRelease(base + offset + AT_ID, -lmrId);
        page.taken.clear((int) ((offset - page.run.offset()) / SLOT_BYTES));
        withRoom.put(name, page);
        page.words--;
        if (page.words == 0) {
            unused++;
        }
        return true;
    }

    /**
     * Removes a page without a word if there are two; null otherwise. One stays, so that the next word needs no extent.
     */
    @Nullable
    ExtentRun removeSpare() {
        if (unused < 2) {
            return null;
        }
        for (Page page : withRoom.descendingMap().values()) {
            if (page.words == 0) {
                withRoom.remove(page.run.entry());
                pages.remove(page.run.entry());
                unused--;
                return page.run;
            }
        }
        throw new AssertionError("%d pages have no word, but none was found".formatted(unused));
    }

    /** Appends the words of the page of this name, and the ids of their LMRs. */
    void copyWords(int name, List<ExtentRun> words, List<Long> ids) {
        Page page = pages.get(name);
        if (page == null) {
            return; // it is being added
        }
        for (int slot = page.taken.nextSetBit(0); slot >= 0; slot = page.taken.nextSetBit(slot + 1)) {
            words.add(word(page, slot));
            ids.add(id(page.offset(slot)));
        }
    }

    private long id(long offset) {
        return idAt(base + offset);
    }

    private static long idAt(long slotAddress) {
        return RawMemory.getLongAcquire(slotAddress + AT_ID);
    }
}

package dev.lite.tier.sync;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Which words of locks and barriers move, or have moved: words that leave this node's arena, and words that this node uses and
 * that have another home now. Any thread; does not block.
 */
public final class WordMoves {
    /** Words of this arena that move away, or have moved, by their ids. At most as many as words were made here. */
    private final Map<Long, WordRef> left = new ConcurrentHashMap<>();

    private final Map<Long, Runnable> whenMoved = new ConcurrentHashMap<>();

    /** A word is about to leave this arena. */
    void leave(WordRef ref) {
        left.put(ref.lmrId(), ref);
    }

    /** A word does not leave this arena after all. */
    void stay(WordRef ref) {
        left.remove(ref.lmrId(), ref);
    }

    /** Whether a word is about to leave this arena, or has left. */
    boolean hasLeft(WordRef ref) {
        return ref.equals(left.get(ref.lmrId()));
    }

    /** Memory of this arena is given to an LMR; if it is that of a word, the word is about to come back, maybe to the same place. */
    public void memoryGiven(long lmrId) {
        left.remove(lmrId);
    }

    /** Registers what to do when a word that this node uses has another home. */
    void whenMoved(long lmrId, Runnable action) {
        whenMoved.put(lmrId, action);
    }

    /** A word has another home now; the waiters of this node notify it. */
    public void homeMoved(long lmrId) {
        Runnable action = whenMoved.get(lmrId);
        if (action != null) {
            action.run();
        }
    }
}

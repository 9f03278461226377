package dev.lite.tier.sync;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Tracks moves of the words of locks and barriers: words that leave this node's arena, and words that this node uses
 * and whose home changed. Any thread; does not block.
 */
public final class WordMoves {
    /** Words that move or have moved away from this arena, by id. At most as many as words were made in this arena. */
    private final Map<Long, WordRef> left = new ConcurrentHashMap<>();

    private final Map<Long, User> users = new ConcurrentHashMap<>();

    /** A word that this node uses, and the action when it gets another home. */
    private record User(SyncWord word, Runnable action) {}

    /** Records that a word is about to leave this arena. */
    void leave(WordRef ref) {
        left.put(ref.lmrId(), ref);
    }

    /** Records that a word stays in this arena after all. */
    void stay(WordRef ref) {
        left.remove(ref.lmrId(), ref);
    }

    /** Whether a word is about to leave this arena, or has left. */
    boolean hasLeft(WordRef ref) {
        return ref.equals(left.get(ref.lmrId()));
    }

    /**
     * Records that an LMR gets memory of this arena. If it is a word's LMR, the word returns, perhaps to the same
     * place.
     */
    public void memoryGiven(long lmrId) {
        left.remove(lmrId);
    }

    /** Registers an action to run when a word that this node uses gets another home. */
    void whenMoved(long lmrId, SyncWord word, Runnable action) {
        users.put(lmrId, new User(word, action));
    }

    /** Ends {@link #whenMoved} for this access to the word; a later one stays. */
    void forget(long lmrId, SyncWord word) {
        users.computeIfPresent(lmrId, (id, user) -> user.word() == word ? null : user);
    }

    /** Handles a word's change of home: this node's waiters report to the new home. */
    public void homeMoved(long lmrId) {
        User user = users.get(lmrId);
        if (user != null) {
            user.action().run();
        }
    }
}

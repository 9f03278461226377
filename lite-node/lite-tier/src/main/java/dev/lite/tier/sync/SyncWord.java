package dev.lite.tier.sync;

import dev.lite.tier.Deadline;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.memory.Mapping;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The word of a lock or a barrier as this node reaches it, one-sided: in mapped memory, or posted through the fabric. Any
 * thread.
 */
public final class SyncWord {
    /** Bytes of a word's LMR. */
    public static final long BYTES = Long.BYTES;

    /** For mapped words, which are never waited for: so that they need no look at the clock. */
    private static final Deadline NO_WAIT = Deadline.in(Duration.ofDays(36_500));

    private final WordRef ref;
    private final @Nullable Mapping mapping;
    private final RemoteMemory remote;

    /**
     * @param mapping where it is mapped into this process, or null when it is reached by posts
     * @param remote for posts
     */
    public SyncWord(WordRef ref, @Nullable Mapping mapping, RemoteMemory remote) {
        this.ref = ref;
        this.mapping = mapping;
        this.remote = remote;
    }

    WordRef ref() {
        return ref;
    }

    /** Where it is mapped; null when it is reached by posts. */
    public @Nullable Mapping mapping() {
        return mapping;
    }

    /** The deadline of an operation on this word that begins now. */
    Deadline deadline(Duration patience) {
        return mapping != null ? NO_WAIT : Deadline.in(patience);
    }

    /** See {@link dev.lite.api.LmrHandle#fetchAdd}; the deadline is not looked at when the word is mapped. */
    long fetchAdd(long delta, Deadline deadline) {
        return mapping != null
                ? mapping.fetchAdd(0, delta)
                : remote.fetchAdd(ref.home(), ref.arena(), ref.offset(), delta, deadline);
    }

    /** See {@link dev.lite.api.LmrHandle#testSet}. */
    long testSet(long expected, long value, Deadline deadline) {
        return mapping != null
                ? mapping.testSet(0, expected, value)
                : remote.testSet(ref.home(), ref.arena(), ref.offset(), expected, value, deadline);
    }
}

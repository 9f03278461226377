package dev.lite.tier.sync;

import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.memory.Mapping;
import java.time.Duration;

/**
 * One node's access to the 64-bit word of a lock or a barrier. If the word is mapped, the processor's atomic operations
 * execute on it directly. Otherwise its home executes them, through the fabric, with the same effect. The word may move
 * to another home; an operation waits until the move is over. Any thread.
 */
public final class SyncWord {
    /** Length of a word's LMR. */
    public static final long BYTES = Long.BYTES;

    /** For mapped words: their operations never wait, so they need not read the clock. */
    private static final Deadline NO_WAIT = Deadline.in(Duration.ofDays(36_500));

    private final Mapping mapping;

    /** Creates the access from a mapping of the word's LMR. */
    public SyncWord(Mapping mapping) {
        this.mapping = mapping;
    }

    /** The word's current location. */
    WordRef ref() {
        return ref(mapping.lmr());
    }

    /** A word's location according to its record. */
    public static WordRef ref(LmrRecord lmr) {
        Share share = lmr.shares().getFirst();
        Run run = share.runs().getFirst();
        return new WordRef(share.node(), share.arena(), lmr.id(), run.offset(), run.entry());
    }

    /** The mapping of the word. */
    public Mapping mapping() {
        return mapping;
    }

    /** Whether the word is currently accessible without a fabric. */
    boolean isMapped() {
        return mapping.isOneMappedExtent();
    }

    /** The deadline for an operation on this word that begins now. */
    Deadline deadline(Duration timeout) {
        return isMapped() ? NO_WAIT : Deadline.in(timeout);
    }

    /**
     * See {@link dev.lite.api.LmrHandle#fetchAdd}. The deadline applies only if the operation goes through a fabric.
     */
    long fetchAdd(long delta, Deadline deadline) {
        return mapping.fetchAdd(0, delta, deadline == NO_WAIT ? null : deadline);
    }

    /** See {@link dev.lite.api.LmrHandle#testSet}. The deadline applies only if the operation goes through a fabric. */
    long testSet(long expected, long value, Deadline deadline) {
        return mapping.testSet(0, expected, value, deadline == NO_WAIT ? null : deadline);
    }
}

package dev.lite.tier.sync;

import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.memory.Mapping;
import java.time.Duration;

/**
 * The 64-bit word that a lock or a barrier stands on, as one node reaches it: where it is mapped, by the processor's atomic
 * operations, otherwise by its home's, through the fabric; to the word these are the same. It may move to another home: an
 * operation that comes meanwhile waits for that. Any thread.
 */
public final class SyncWord {
    /** Length of a word's LMR. */
    public static final long BYTES = Long.BYTES;

    /** For mapped words, which are never waited for: so that they need not read the clock. */
    private static final Deadline NO_WAIT = Deadline.in(Duration.ofDays(36_500));

    private final Mapping mapping;

    /** Of a mapping of the word's LMR. */
    public SyncWord(Mapping mapping) {
        this.mapping = mapping;
    }

    /** Where it lies now. */
    WordRef ref() {
        return ref(mapping.lmr());
    }

    /** Where a word lies, by its record. */
    public static WordRef ref(LmrRecord lmr) {
        Share share = lmr.shares().getFirst();
        Run run = share.runs().getFirst();
        return new WordRef(share.node(), share.arena(), lmr.id(), run.offset(), run.entry());
    }

    /** The handle by which it is reached. */
    public Mapping mapping() {
        return mapping;
    }

    /** Whether it is reached without a fabric just now. */
    boolean isMapped() {
        return mapping.isOneMappedExtent();
    }

    /** The deadline of an operation on this word that begins now. */
    Deadline deadline(Duration timeout) {
        return isMapped() ? NO_WAIT : Deadline.in(timeout);
    }

    /** See {@link dev.lite.api.LmrHandle#fetchAdd}; the deadline counts for the way through a fabric. */
    long fetchAdd(long delta, Deadline deadline) {
        return mapping.fetchAdd(0, delta, deadline == NO_WAIT ? null : deadline);
    }

    /** See {@link dev.lite.api.LmrHandle#testSet}; likewise. */
    long testSet(long expected, long value, Deadline deadline) {
        return mapping.testSet(0, expected, value, deadline == NO_WAIT ? null : deadline);
    }
}

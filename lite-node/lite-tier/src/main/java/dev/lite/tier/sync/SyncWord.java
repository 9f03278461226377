package dev.lite.tier.sync;

import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.os.Futex;
import dev.lite.os.OsException;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.memory.Mapping;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One node's access to the 64-bit word of a lock or a barrier. If the word is mapped, the processor's atomic operations
 * execute on it directly. Otherwise its home executes them, through the fabric, with the same effect. The word may move
 * to another home; an operation waits until the move is over. Any thread.
 */
public final class SyncWord {
    /** Length of a word's LMR. */
    public static final long BYTES = Long.BYTES;

    /** The answer of {@link #pass} if it did nothing. */
    static final long NOT_PASSED = -1;

    private static final Logger log = LoggerFactory.getLogger(SyncWord.class);

    /** Where the half of the word lies that every draw and every pass changes. */
    private static final int LOW_HALF = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? 0 : Integer.BYTES;

    /** How often, at most, the record of a word is read that is paused for a move. */
    private static final long FOLLOW_NS = 500_000_000;

    /** How long that may take: meanwhile the waiter does not report to the home. */
    private static final Duration FOLLOW_DEADLINE = Duration.ofMillis(500);

    /** For mapped words: their operations never wait, so they need not read the clock. */
    private static final Deadline NO_WAIT = Deadline.in(Duration.ofDays(36_500));

    private final Mapping mapping;

    /** When the record was read last, of {@link System#nanoTime}. */
    private final AtomicLong followedNs = new AtomicLong(System.nanoTime() - FOLLOW_NS);

    private volatile long valueAtOpen;

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

    /** The home said the word's value when it was opened. */
    void opened(long value) {
        valueAtOpen = value;
    }

    /** The value that the home said when the word was opened; 0 if it has said none. */
    long valueAtOpen() {
        return valueAtOpen;
    }

    /**
     * Makes a word that is paused for a move follow its record, as an operation on it would do: the home that moved it may have ended,
     * or have lost the last answer of the directory, before it told this node. For waiters, which only report to the home. Does nothing
     * if the directory does not answer.
     */
    void followMove(Deadline deadline) {
        if (!mapping.isPaused()) {
            return;
        }
        long nowNs = System.nanoTime();
        long lastNs = followedNs.get();
        if (nowNs - lastNs >= FOLLOW_NS && followedNs.compareAndSet(lastNs, nowNs)) {
            mapping.owner().refresh(mapping.name().orElse(null), mapping.id(), deadline.atMost(FOLLOW_DEADLINE));
        }
    }

    /** The deadline for an operation on this word that begins now. */
    Deadline deadline(Duration timeout) {
        return isMapped() ? NO_WAIT : Deadline.in(timeout);
    }

    /**
     * See {@link dev.lite.api.LmrHandle#fetchAdd}. The deadline applies if the operation goes through a fabric, or waits for
     * the end of a move.
     */
    long fetchAdd(long delta, Deadline deadline) {
        return mapping.fetchAdd(0, delta, deadline == NO_WAIT ? null : deadline);
    }

    /**
     * Reads the word.
     *
     * @throws Mapping.NotMappedException if it is not mapped now
     */
    long read() {
        return mapping.readWord(0);
    }

    /**
     * For the word of a lock: ends a ticket's turn, if it has not ended yet, and wakes the thread that {@linkplain #sleep sleeps}
     * until the next turn. This may happen twice, and late: it takes effect once.
     *
     * @return the value after the pass; {@link #NOT_PASSED} if the turn was over
     */
    long pass(long ticket, Deadline deadline) {
        long seen = fetchAdd(0, deadline);
        while (!LockWord.isDead(seen) && LockWord.count(seen) > 0 && LockWord.turn(seen) == ticket) {
            long passed = LockWord.passed(seen);
            long before = testSet(seen, passed, deadline);
            if (before == seen) {
                if (LockWord.count(passed) > 0) {
                    wake(LockWord.turn(passed));
                }
                return passed;
            }
            seen = before; // another thread drew a ticket
        }
        return NOT_PASSED;
    }

    /**
     * For a lock's word that is mapped: sleeps until {@link #pass} begins the ticket's turn, in this or another process, or until
     * the timeout. Returns at once if the word has changed, and may return at any time. A platform thread.
     *
     * @param seen the value that was read
     */
    void sleep(long seen, long ticket, long timeoutNs) {
        long address = mapping.address();
        if (address == 0) {
            return;
        }
        try {
            Futex.Wait unused = Futex.awaitBits(address + LOW_HALF, (int) seen, bit(ticket), timeoutNs);
        } catch (OsException e) {
            log.debug("lock {}: its word was unmapped during the sleep: {}", ref(), e.getMessage());
        }
    }

    private void wake(long ticket) {
        long address = mapping.address();
        if (address == 0) {
            return; // a thread that sleeps on it has it mapped, and reads it again after a while
        }
        try {
            int unused = Futex.wakeBits(address + LOW_HALF, bit(ticket));
        } catch (OsException e) {
            log.debug("lock {}: its word was unmapped after a pass: {}", ref(), e.getMessage());
        }
    }

    private static int bit(long ticket) {
        return 1 << (int) (ticket & (Integer.SIZE - 1));
    }

    /** See {@link dev.lite.api.LmrHandle#testSet}. The deadline applies as in {@link #fetchAdd}. */
    long testSet(long expected, long value, Deadline deadline) {
        return mapping.testSet(0, expected, value, deadline == NO_WAIT ? null : deadline);
    }
}

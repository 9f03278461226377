package dev.lite.tier.sync;

/**
 * The arithmetic of a lock's word. Its low {@value #COUNT_BITS} bits count the tickets that were drawn and have not
 * passed; the high bits are the next ticket. So the word also gives the current turn: next ticket minus count. A draw
 * increments both and keeps the turn. A pass decrements the count and so advances the turn by one. The turn only grows,
 * so a pass is safe to repeat: its compare-and-set can never succeed twice for one ticket.
 *
 * <p>Tickets are never reused: 2⁴⁴ tickets last half a year at a million per second. The count cannot overflow: 1,024
 * nodes have at most {@link NodeLock#TICKETS_MAX} tickets each.
 */
final class LockWord {
    private static final int COUNT_BITS = 20;
    private static final int COUNT_MASK = (1 << COUNT_BITS) - 1;

    /** What a draw adds. */
    static final long DRAW = (1L << COUNT_BITS) | 1;

    /** What a pass adds. */
    static final long PASS = -1;

    private LockWord() {}

    /** Number of tickets that were drawn and have not passed; the first of them holds the lock. */
    static int count(long word) {
        return (int) word & COUNT_MASK;
    }

    /** The ticket that the next draw gets. */
    static long next(long word) {
        return word >>> COUNT_BITS;
    }

    /** The ticket whose turn it is; if the lock is free, the next ticket. */
    static long turn(long word) {
        return next(word) - count(word);
    }

    /** The value of the word while a ticket holds the lock and no later ticket was drawn. */
    static long heldAlone(long ticket) {
        return ((ticket + 1) << COUNT_BITS) | 1;
    }
}

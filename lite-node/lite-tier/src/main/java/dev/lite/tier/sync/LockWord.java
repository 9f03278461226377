package dev.lite.tier.sync;

/**
 * The arithmetic of a lock's word. Its low {@value #COUNT_BITS} bits count the tickets that were drawn and have not passed;
 * the high bits are the next ticket. So whose turn it is stands in the word, too: the next ticket less the count. A draw
 * raises both and leaves the turn; a pass lowers the count and so moves the turn on by one. The turn only ever grows, which
 * makes a pass safe to repeat: it is a compare-and-set that can never succeed twice for one ticket.
 *
 * <p>Tickets are never used again: 2⁴⁴ of them last half a year at a million a second. The count cannot overflow: 1,024
 * nodes with {@link NodeLock#TICKETS_MAX} tickets each.
 */
final class LockWord {
    private static final int COUNT_BITS = 20;
    private static final int COUNT_MASK = (1 << COUNT_BITS) - 1;

    /** What a draw adds. */
    static final long DRAW = (1L << COUNT_BITS) | 1;

    /** What a pass adds. */
    static final long PASS = -1;

    private LockWord() {}

    /** How many tickets were drawn and have not passed; the first of them holds the lock. */
    static int count(long word) {
        return (int) word & COUNT_MASK;
    }

    /** The ticket that the next draw gets. */
    static long next(long word) {
        return word >>> COUNT_BITS;
    }

    /** Whose turn it is; the next ticket when the lock is free. */
    static long turn(long word) {
        return next(word) - count(word);
    }

    /** The word while a ticket holds the lock and nobody has drawn after it. */
    static long heldAlone(long ticket) {
        return ((ticket + 1) << COUNT_BITS) | 1;
    }
}

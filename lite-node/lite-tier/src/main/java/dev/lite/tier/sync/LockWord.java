package dev.lite.tier.sync;

/**
 * The arithmetic of a lock's word. Its low {@value #COUNT_BITS} bits count the tickets that were drawn and have not
 * passed; the bits above are the next ticket. So the word also gives the current turn: next ticket minus count. A draw
 * increments both and keeps the turn. A pass decrements the count and so advances the turn by one. The turn only grows,
 * so a pass is safe to repeat: its compare-and-set can never succeed twice for one ticket.
 *
 * <p>A ticket has 42 bits: they last fifty days at a million tickets per second. The count cannot overflow: 1,024
 * nodes have at most {@link NodeLock#TICKETS_MAX} tickets each.
 *
 * <p>The bit above the tickets is the mark {@link #isQueued}. The home sets it before it answers a waiter that it is queued,
 * and removes it when its queue is empty. A pass sees the mark in the value that it replaces. <b>Invariant: while the mark is
 * not set, nobody waits for a message of the home, so the lock passes on without one.</b> A word whose count is 0 has no mark:
 * the last pass removes it.
 *
 * <p>A word has three lives:
 *
 * <ul>
 *   <li><b>unborn</b> ({@link #UNBORN}): it has a record, and nobody has drawn from it;
 *   <li><b>born</b>: it counts tickets. Its first ticket is at least 1, so a born word is never {@link #UNBORN} again;
 *   <li><b>dead</b> ({@link #isDead}): the highest bit is set, for ever. It dies only while its count is 0, by one
 *       compare-and-set, so nobody holds or awaits a dead lock. Its count is not 0 then: a draw finds it taken, and adds to
 *       a word that nobody reads for its tickets.
 * </ul>
 *
 * <p><b>Invariant: the tokens of a name grow across its words.</b> The directory has a ticket floor. Three rules keep the
 * invariant:
 *
 * <ol>
 *   <li>The record of a dead word is removed only after the floor was raised to the word's next ticket. The floor never sinks.
 *   <li>A name has one record at a time. So when a node finds the record of a word, the records of all earlier words of the
 *       name have been removed.
 *   <li>A node that finds a word unborn reads the floor after it found the record, and makes the floor the word's first ticket.
 * </ol>
 */
final class LockWord {
    private static final int COUNT_BITS = 20;
    private static final int COUNT_MASK = (1 << COUNT_BITS) - 1;

    /** What a draw adds. */
    static final long DRAW = (1L << COUNT_BITS) | 1;

    /** What a pass adds. */
    static final long PASS = -1;

    /** The value of a new word. */
    static final long UNBORN = 0;

    private static final long DEAD = Long.MIN_VALUE;
    private static final long QUEUED = Long.MIN_VALUE >>> 1;
    private static final long TICKET_MASK = ~(DEAD | QUEUED);

    private LockWord() {}

    /** The value of a free lock whose next ticket is this one. */
    static long free(long next) {
        return next << COUNT_BITS;
    }

    /** Whether the word is dead: only the directory says which word the lock has now. */
    static boolean isDead(long word) {
        return word < 0;
    }

    /** The value that a free or unborn word dies with; see the class comment. */
    static long dead(long free) {
        return free | DEAD | 1;
    }

    /** Number of tickets that were drawn and have not passed; the first of them holds the lock. */
    static int count(long word) {
        return (int) word & COUNT_MASK;
    }

    /** The ticket that the next draw gets; of a dead word at least the one that it would have got. */
    static long next(long word) {
        return (word & TICKET_MASK) >>> COUNT_BITS;
    }

    /** The ticket whose turn it is; if the lock is free, the next ticket. */
    static long turn(long word) {
        return next(word) - count(word);
    }

    /** The value after the pass of the ticket whose turn it is; the count is not 0. */
    static long passed(long word) {
        long next = word + PASS;
        return count(next) == 0 ? next & ~QUEUED : next;
    }

    /** Whether the home's queue has, or had, waiters. If so, the thread that passes the lock on must tell the home. */
    static boolean isQueued(long word) {
        return (word & QUEUED) != 0;
    }

    /** The value with the mark of {@link #isQueued}; the count is not 0. */
    static long queued(long word) {
        return word | QUEUED;
    }

    /** The value without the mark of {@link #isQueued}. */
    static long notQueued(long word) {
        return word & ~QUEUED;
    }

    /** The value of the word while a ticket holds the lock and no later ticket was drawn. */
    static long heldAlone(long ticket) {
        return ((ticket + 1) << COUNT_BITS) | 1;
    }
}

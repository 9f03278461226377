package dev.lite.fabric.tcp;

/**
 * The outstanding operations of a lane, oldest first, at most {@value #MAX}. Threads that post add under the lock of
 * {@link Outbound}. Only the poll role removes, and it needs no lock for that: counters only grow, each has one writer
 * at a time, and a place is written before the counter that shows it.
 */
final class Operations {
    static final int MAX = 256;

    private static final int MASK = MAX - 1;

    private final int[] kinds = new int[MAX];
    private final long[] contexts = new long[MAX];
    private final long[] localAddresses = new long[MAX];
    private final int[] lengths = new int[MAX];

    /** Number of ended operations, modulo 2^32. Written by the poll role. */
    private volatile int ended;

    /** Number of posted operations, modulo 2^32. Written under the lock. */
    private volatile int posted;

    /**
     * See {@link #promptPosted()}. Written under the lock. Never more than twice {@value #MAX} behind {@link #posted}: further behind, it
     * would count as ahead of it.
     */
    private volatile int promptPosted;

    /** No operations. */
    Operations() {
        this(0, 0);
    }

    /**
     * For tests: operations were posted, and have ended.
     *
     * @param posted how many, modulo 2^32
     * @param promptPosted {@link #promptPosted()}
     */
    Operations(int posted, int promptPosted) {
        this.posted = posted;
        this.ended = posted;
        this.promptPosted = promptPosted;
    }

    /** Whether there is no room for another operation. Under the lock. */
    boolean isFull() {
        return posted - ended >= MAX;
    }

    /** Adds an operation, for which there is room. Under the lock. */
    void add(int kind, long local, int length, long context) {
        int number = posted;
        int place = number & MASK;
        kinds[place] = kind;
        contexts[place] = context;
        localAddresses[place] = local;
        lengths[place] = length;
        // Only one thread at a time holds the lock.
        posted = number + 1;
        if (kind != Frame.WRITE_IMM) {
            promptPosted = number + 1;
        } else if (number - promptPosted > 2 * MAX) {
            promptPosted = number - MAX; // that one has ended, too
        }
    }

    boolean isEmpty() {
        return ended == posted;
    }

    /** Number of posted operations up to the last one that the peer answers in its next poll. Any thread. */
    int promptPosted() {
        return promptPosted;
    }

    /** Whether some of so many posted operations have not ended. Any thread. */
    boolean isOutstanding(int count) {
        return count - ended > 0;
    }

    /**
     * Whether the peer's count of completed operations is possible: not below the ended ones, not above the posted ones.
     */
    boolean isPossible(int acknowledged) {
        return acknowledged - ended >= 0 && acknowledged - posted <= 0;
    }

    /** Whether an operation that may change the peer's memory is outstanding. Any thread, when no more are added. */
    boolean hasChange() {
        int end = posted;
        for (int number = ended; number != end; number++) {
            if (Frame.changes(kinds[number & MASK])) {
                return true;
            }
        }
        return false;
    }

    /** Number of ended operations, modulo 2^32. */
    int ended() {
        return ended;
    }

    /** Kind of the oldest operation, which must exist. Poll role. */
    int oldestKind() {
        return kinds[ended & MASK];
    }

    /** Address for the oldest operation's result. Poll role. */
    long oldestLocal() {
        return localAddresses[ended & MASK];
    }

    /** Length of the oldest operation. Poll role. */
    int oldestLength() {
        return lengths[ended & MASK];
    }

    /** Ends the oldest operation; returns its context. Poll role. */
    long end() {
        int number = ended;
        long context = contexts[number & MASK];
        // Only the poll role writes it. Afterwards another thread may use the place.
        ended = number + 1;
        return context;
    }
}

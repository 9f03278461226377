package dev.lite.api;

/**
 * Locks and barriers across the cluster, by name (paper §7.2). Any thread. Every method waits at most for the session's deadline, and
 * throws {@link SessionLostException} when the session has ended.
 *
 * <p>Names of LMRs, of locks and of barriers are independent: the same name may be used for one of each.
 */
public interface LtSync {
    /** The longest name of a lock or barrier, in bytes of UTF-8. */
    int NAME_BYTES_MAX = 512;

    /** The largest number of parties of a barrier. */
    int PARTIES_MAX = 16_384;

    /**
     * Returns the lock with this name. The first use creates it, at the node of the session that used it first.
     *
     * @throws ClusterUnavailableException when the lock is not known at this node yet and the directory cannot be reached
     * @throws LmrPermissionException when the session's principal may not use this name
     * @throws LimitExceededException when the session or its node has reached its limit of locks and barriers
     * @throws IllegalArgumentException when the name is invalid; see {@link #checkName}
     */
    LtLock lock(String name);

    /**
     * Returns the barrier with this name. The first use creates it.
     *
     * @param parties how many parties a round needs, 1 to {@value #PARTIES_MAX}; all parties must name the same number, or the round
     *     breaks
     * @throws ClusterUnavailableException when the barrier is not known at this node yet and the directory cannot be reached
     * @throws LmrPermissionException when the session's principal may not use this name
     * @throws LimitExceededException when the session or its node has reached its limit of locks and barriers
     * @throws IllegalArgumentException when the name (see {@link #checkName}) or the number of parties is invalid
     */
    LtBarrier barrier(String name, int parties);

    /**
     * Checks the name of a lock or barrier.
     *
     * @throws IllegalArgumentException when it is blank, is longer than {@value #NAME_BYTES_MAX} bytes of UTF-8, contains a
     *     control character, or is no valid Unicode
     */
    static void checkName(String name) {
        Names.require("the name of a lock or barrier", "name", name, NAME_BYTES_MAX);
    }

    /**
     * Checks a number of parties.
     *
     * @throws IllegalArgumentException when it is not 1 to {@value #PARTIES_MAX}
     */
    static void checkParties(int parties) {
        if (parties < 1 || parties > PARTIES_MAX) {
            throw new IllegalArgumentException(
                    "a barrier of %d parties; the number must be 1 to %d".formatted(parties, PARTIES_MAX));
        }
    }
}

package dev.lite.api;

import java.nio.charset.StandardCharsets;

/**
 * Locks and barriers by name, across the cluster (paper §7.2). Any thread. The methods wait at most for the session's deadline, and
 * throw {@link SessionLostException} when the session has ended.
 */
public interface LtSync {
    /** Upper limit of the name of a lock or barrier, in bytes of UTF-8. */
    int NAME_BYTES_MAX = 512;

    /** How many parties a barrier may have. */
    int PARTIES_MAX = 16_384;

    /**
     * The lock of this name; it is made with its first use, at the node of whoever used it first. Locks and barriers have
     * names of their own: an LMR, a lock and a barrier may have the same.
     *
     * @throws ClusterUnavailableException when it is not known here yet and the directory cannot be reached
     * @throws LimitExceededException when the session or its node uses as many as it may
     * @throws IllegalArgumentException see {@link #checkName}
     */
    LtLock lock(String name);

    /**
     * The barrier of this name; it is made with its first use.
     *
     * @param parties how many have to arrive, 1 to {@value #PARTIES_MAX}; the same at all of them, or the round breaks
     * @throws ClusterUnavailableException when it is not known here yet and the directory cannot be reached
     * @throws LimitExceededException when the session or its node uses as many as it may
     * @throws IllegalArgumentException see {@link #checkName}; or too few or too many parties
     */
    LtBarrier barrier(String name, int parties);

    /**
     * Checks a name of a lock or barrier.
     *
     * @throws IllegalArgumentException when it is blank, longer than {@value #NAME_BYTES_MAX} bytes of UTF-8, or has a
     *     control character
     */
    static void checkName(String name) {
        if (name.isBlank()) {
            throw new IllegalArgumentException("the name of a lock or barrier is blank");
        }
        int bytes = name.getBytes(StandardCharsets.UTF_8).length;
        if (bytes > NAME_BYTES_MAX) {
            throw new IllegalArgumentException(
                    "the name of the lock or barrier \"%s…\" has %d bytes of UTF-8; the limit is %d"
                            .formatted(name.substring(0, 32), bytes, NAME_BYTES_MAX));
        }
        if (name.chars().anyMatch(Character::isISOControl)) {
            throw new IllegalArgumentException("the name of a lock or barrier has a control character");
        }
    }

    /** Checks a number of parties. */
    static void checkParties(int parties) {
        if (parties < 1 || parties > PARTIES_MAX) {
            throw new IllegalArgumentException(
                    "a barrier of %d parties is asked for; it must be 1 to %d".formatted(parties, PARTIES_MAX));
        }
    }
}

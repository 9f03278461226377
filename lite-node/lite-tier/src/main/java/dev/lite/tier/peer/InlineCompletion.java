package dev.lite.tier.peer;

/**
 * Whether the posts of a fabric complete inline: before the post returns. A software RDMA device does that, since the
 * posting thread executes the transfer. Then one poll after the post takes the completion, and no thread must wake. On
 * other fabrics such polls find nothing, and cost more than they save. So after {@value #MISSES_MAX} misses in a row,
 * only one post in about {@value #SKIPPED} tries.
 *
 * <p>Any thread. Threads race on the count without ordering: a lost update adds or omits a few polls.
 */
final class InlineCompletion {
    private static final int MISSES_MAX = 4;
    private static final int SKIPPED = 64;

    /** Misses in a row; from {@value #MISSES_MAX} on also the posts that did not try. */
    private int misses;

    /** Whether to poll after the next post. The caller then calls {@link #note}. */
    boolean isLikely() {
        int now = misses;
        if (now < MISSES_MAX) {
            return true;
        }
        misses = now < MISSES_MAX + SKIPPED ? now + 1 : MISSES_MAX - 1; // then one more miss is enough
        return false;
    }

    /** Records whether the poll after a post found its completion. */
    void note(boolean hit) {
        if (!hit) {
            misses++;
        } else if (misses != 0) { // threads share this cache line
            misses = 0;
        }
    }
}

package dev.lite.session.channel;

/**
 * Decides whether the watching thread must be armed for calls that no thread waits for. A thread that has polled for such calls is expected
 * to poll again within microseconds. Until then the link is not armed: an armed link wakes the watching thread, which takes a processor
 * from the threads that have work. If the thread does not poll again, the watching thread arms the link.
 *
 * <p>A reply may be seen late then. That does not matter to the thread itself, but to futures with stages, and to threads that wait for a
 * future without polling. So for {@value #STAGES_NS} ns after such a future has ended, nobody is expected.
 *
 * <p>Times are those of {@link System#nanoTime}. Any thread.
 */
final class ExpectedPolls {
    /** A thread that has neither polled nor started a call for so long may be busy with something else. */
    static final long FRESH_NS = 100_000;
    /** A thread that starts calls, but does not poll for so long, may never do so. */
    static final long UNPOLLED_NS_MAX = 1_000_000;

    static final long STAGES_NS = 100_000_000;

    private volatile boolean expected;
    private volatile long startedNs;
    private volatile long stagedNs;

    /** Nobody is expected. */
    ExpectedPolls(long nowNs) {
        startedNs = nowNs;
        stagedNs = nowNs - STAGES_NS;
    }

    /** Whether a thread is expected to poll: the link need not be armed. */
    boolean isExpected() {
        return expected;
    }

    /** A thread that waited for calls stops polling; returns whether it is expected back. */
    boolean leave(long nowNs) {
        expected = nowNs - stagedNs >= STAGES_NS;
        return expected;
    }

    /** The threads that polled sleep. */
    void none() {
        expected = false;
    }

    /** A thread has started a call, and will probably start another one or poll within microseconds. */
    void startedSoonBack(long nowNs) {
        startedNs = nowNs;
        expected = true;
    }

    /** A thread has started a call; returns whether one is expected to poll. */
    boolean started(long nowNs) {
        startedNs = nowNs;
        return expected;
    }

    /** A call has ended whose future has stages, or for which a thread waits that does not poll. */
    void staged(long nowNs) {
        stagedNs = nowNs;
    }

    /**
     * Returns whether a thread is still expected. If not, the caller must arm the link.
     *
     * @param polledNs when a thread polled last
     */
    boolean goesOn(long nowNs, long polledNs) {
        long unpolledNs = nowNs - polledNs;
        if (unpolledNs < FRESH_NS || (nowNs - startedNs < FRESH_NS && unpolledNs < UNPOLLED_NS_MAX)) {
            return true;
        }
        expected = false;
        return false;
    }
}

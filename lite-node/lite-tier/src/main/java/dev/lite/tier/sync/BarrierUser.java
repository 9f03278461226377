package dev.lite.tier.sync;

/** One session's use of a barrier of its node, until the session gives it up. Any thread. */
final class BarrierUser implements UsedNames.User {
    private final NodeBarrier barrier;
    private final SessionSync session;

    /** Changed under the barrier's monitor. */
    private volatile boolean givenUp;

    BarrierUser(NodeBarrier barrier, SessionSync session) {
        this.barrier = barrier;
        this.session = session;
    }

    NodeBarrier barrier() {
        return barrier;
    }

    SessionSync session() {
        return session;
    }

    /** Before a party enters, under the barrier's monitor. */
    void requireUsed() {
        session.requireOpen();
        if (givenUp) {
            throw new GivenUpException();
        }
    }

    @Override
    public String name() {
        return barrier.name();
    }

    @Override
    public boolean giveUp() {
        synchronized (barrier) {
            if (givenUp || !barrier.isIdle()) {
                return false;
            }
            givenUp = true;
            return true;
        }
    }

    @Override
    public boolean isGivenUp() {
        return givenUp;
    }
}

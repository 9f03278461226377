package dev.lite.tier.sync;

import dev.lite.tier.memory.Mapping;

/** One session's access to a lock of its node, until the session gives it up. Any thread. */
final class LockUser implements Mapping.Drawer, UsedNames.User {
    private final NodeLock lock;
    private final SessionSync session;

    /** Changed under the monitor. A thread that reads it without the monitor may see an attempt to give up that fails. */
    private volatile boolean givenUp;

    LockUser(NodeLock lock, SessionSync session) {
        this.lock = lock;
        this.session = session;
    }

    NodeLock lock() {
        return lock;
    }

    SessionSync session() {
        return session;
    }

    /** Before a draw. */
    void requireUsed() {
        session.requireOpen();
        if (givenUp) {
            throw new GivenUpException();
        }
    }

    /**
     * Runs within the operation: either this sees that the session ended or gives the lock up, or the end waits until the draw is
     * recorded.
     */
    @Override
    public void beforeDraw() {
        requireUsed();
    }

    @Override
    public void drawn(long before) {
        lock.drawn(before, session);
    }

    @Override
    public String name() {
        return lock.name();
    }

    @Override
    public synchronized boolean giveUp() {
        if (givenUp || lock.isInUse()) {
            return false;
        }
        givenUp = true; // a later draw sees this; an earlier one is seen now
        boolean over = false;
        try {
            lock.word().mapping().awaitOperations();
            over = !lock.isInUse();
        } finally {
            givenUp = over;
        }
        return over;
    }

    @Override
    public boolean isGivenUp() {
        return givenUp && isGivenUpNow();
    }

    private synchronized boolean isGivenUpNow() {
        return givenUp;
    }
}

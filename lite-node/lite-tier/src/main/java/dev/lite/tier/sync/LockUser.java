package dev.lite.tier.sync;

import dev.lite.tier.memory.Mapping;

/** One session's access to a lock of its node. Any thread. */
final class LockUser implements Mapping.Drawer {
    private final NodeLock lock;
    private final SessionSync session;

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

    /**
     * Runs within the operation: either this sees that the session ended, or the end waits until the draw is recorded.
     */
    @Override
    public void beforeDraw() {
        session.requireOpen();
    }

    @Override
    public void drawn(long before) {
        lock.drawn(before, session);
    }
}

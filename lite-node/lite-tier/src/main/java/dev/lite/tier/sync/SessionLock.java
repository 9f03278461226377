package dev.lite.tier.sync;

import dev.lite.api.HeldLock;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LtLock;
import dev.lite.os.waiting.Deadline;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A lock as one session uses it. If nobody used the lock for a while, its home removed its word. The operation that
 * finds that out opens the lock by its name again and continues with the new word. Any thread.
 */
final class SessionLock implements LtLock {
    private final SyncService service;
    private final SessionSync session;

    /** Replaced when its word is dead. */
    private volatile LockUser user;

    SessionLock(SyncService service, SessionSync session, NodeLock lock) {
        this.service = service;
        this.session = session;
        this.user = new LockUser(lock, session);
    }

    /** The lock with the word that this session knows. */
    NodeLock lock() {
        return user.lock();
    }

    @Override
    public String name() {
        return lock().name();
    }

    @Override
    public HeldLock acquire(Duration timeout) {
        LockUser now = user;
        SessionSync.positive(timeout);
        Hold hold = now.lock().draw(now);
        return hold != null && !(hold instanceof Hold.Queued) ? hold : acquire(now, hold, Deadline.in(timeout));
    }

    private HeldLock acquire(LockUser first, @Nullable Hold drawn, Deadline deadline) {
        LockUser now = first;
        Hold hold = drawn;
        while (true) {
            try {
                return hold instanceof Hold.Queued queued
                        ? now.lock().await(queued, deadline)
                        : now.lock().acquire(now, deadline);
            } catch (LmrFreedException e) {
                now = reopen(now, deadline);
                hold = null;
            }
        }
    }

    @Override
    public Optional<HeldLock> tryAcquire() {
        LockUser now = user;
        try {
            return now.lock().tryAcquire(now);
        } catch (LmrFreedException e) {
            return tryAgain(now, Deadline.in(session.timeout()));
        }
    }

    private Optional<HeldLock> tryAgain(LockUser dead, Deadline deadline) {
        LockUser now = dead;
        while (true) {
            now = reopen(now, deadline);
            try {
                return now.lock().tryAcquire(now);
            } catch (LmrFreedException e) {
                // This word is dead as well.
            }
        }
    }

    private LockUser reopen(LockUser dead, Deadline deadline) {
        session.requireOpen(); // else the word was unmapped after the end of its last session
        NodeLock now = service.reopen(dead.lock(), deadline);
        session.requireOpen();
        LockUser fresh = now == dead.lock() ? dead : new LockUser(now, session);
        user = fresh;
        return fresh;
    }

    @Override
    public String toString() {
        return "LtLock[%s]".formatted(name());
    }
}

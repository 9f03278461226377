package dev.lite.tier.sync;

import dev.lite.api.HeldLock;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LtLock;
import dev.lite.os.waiting.Deadline;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A lock as one session uses it. If nobody used the lock for a while, its home removed its word, or its session gave it up. The
 * operation that finds that out opens the lock by its name again and continues with the new word. Any thread.
 */
final class SessionLock implements LtLock {
    private final SessionSync session;

    /** Replaced when its word is dead, or when it was given up. */
    private volatile LockUser user;

    SessionLock(SessionSync session, LockUser user) {
        this.session = session;
        this.user = user;
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
            } catch (GivenUpException e) {
                now = useAgain(now, deadline);
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
            return tryAgain(now, true, Deadline.in(session.timeout()));
        } catch (GivenUpException e) {
            return tryAgain(now, false, Deadline.in(session.timeout()));
        }
    }

    private Optional<HeldLock> tryAgain(LockUser former, boolean formerDead, Deadline deadline) {
        LockUser now = former;
        boolean dead = formerDead;
        while (true) {
            now = dead ? reopen(now, deadline) : useAgain(now, deadline);
            try {
                return now.lock().tryAcquire(now);
            } catch (LmrFreedException e) {
                dead = true; // this word as well
            } catch (GivenUpException e) {
                dead = false;
            }
        }
    }

    private LockUser reopen(LockUser dead, Deadline deadline) {
        LockUser fresh = session.reopen(dead, deadline);
        user = fresh;
        return fresh;
    }

    private LockUser useAgain(LockUser givenUp, Deadline deadline) {
        LockUser fresh = session.useLock(givenUp.name(), deadline);
        user = fresh;
        return fresh;
    }

    @Override
    public String toString() {
        return "LtLock[%s]".formatted(name());
    }
}

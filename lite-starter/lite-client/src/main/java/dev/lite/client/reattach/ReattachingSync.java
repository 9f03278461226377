package dev.lite.client.reattach;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.LtSync;
import dev.lite.api.SessionLostException;
import dev.lite.client.reattach.PerSession.Bound;
import dev.lite.os.waiting.Deadline;
import java.time.Duration;
import java.util.Optional;

/** The locks and barriers of the current session. A held lock is lost with its session. Any thread. */
final class ReattachingSync implements LtSync {
    private final SessionKeeper keeper;

    ReattachingSync(SessionKeeper keeper) {
        this.keeper = keeper;
    }

    @Override
    public LtLock lock(String name) {
        LtSync.checkName(name); // also while the node is away
        return new ReattachingLock(name);
    }

    @Override
    public LtBarrier barrier(String name, int parties) {
        LtSync.checkName(name);
        LtSync.checkParties(parties);
        return new ReattachingBarrier(name, parties);
    }

    private final class ReattachingLock implements LtLock {
        private final String name;
        private final PerSession<LtLock> lock;

        ReattachingLock(String name) {
            this.name = name;
            this.lock = new PerSession<>(keeper, session -> session.sync().lock(name));
            LtLock unused = lock.get(keeper.deadline()); // reports a bad name or a limit at once
        }

        @Override
        public String name() {
            return name;
        }

        /** Repeated at the next session: a waiter of the lost session held nothing. It waits at the end of the queue again. */
        @Override
        public HeldLock acquire(Duration deadline) {
            Deadline until = Deadline.ofCall(deadline); // one for all attempts
            Bound<LtLock> open = lock.boundIfOpen();
            if (open != null) {
                try {
                    return new CountedLock(open.session(), open.value().acquire(deadline));
                } catch (SessionLostException lost) {
                    keeper.pauseBeforeRetry(lost, until);
                }
            }
            while (true) {
                try {
                    Bound<LtLock> current = lock.bound(until);
                    return new CountedLock(current.session(), current.value().acquire(SessionKeeper.remaining(until)));
                } catch (SessionLostException lost) {
                    keeper.pauseBeforeRetry(lost, until);
                }
            }
        }

        @Override
        public Optional<HeldLock> tryAcquire() {
            Bound<LtLock> current = lock.bound(keeper.deadline());
            return current.value().tryAcquire().map(held -> new CountedLock(current.session(), held));
        }
    }

    /** A held lock; the keeper counts it for its session until it is closed. */
    private final class CountedLock implements HeldLock {
        private final HeldLock held;

        CountedLock(Lite session, HeldLock held) {
            this.held = held;
            keeper.lockAcquired(this, session);
        }

        @Override
        public String name() {
            return held.name();
        }

        @Override
        public long fencingToken() {
            return held.fencingToken();
        }

        @Override
        public boolean isHeld() {
            return held.isHeld();
        }

        @Override
        public void close() {
            try {
                held.close();
            } finally {
                keeper.lockClosed(this);
            }
        }

        @Override
        public String toString() {
            return held.toString();
        }
    }

    private final class ReattachingBarrier implements LtBarrier {
        private final String name;
        private final int parties;
        private final PerSession<LtBarrier> barrier;

        ReattachingBarrier(String name, int parties) {
            this.name = name;
            this.parties = parties;
            this.barrier = new PerSession<>(keeper, session -> session.sync().barrier(name, parties));
            LtBarrier unused = barrier.get(keeper.deadline()); // reports a bad name or a limit at once
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public int parties() {
            return parties;
        }

        /** Not repeated: the loss of the session broke the round for all parties. */
        @Override
        public long await(Duration deadline) {
            Deadline until = Deadline.ofCall(deadline);
            return barrier.get(until).await(SessionKeeper.remaining(until));
        }
    }
}

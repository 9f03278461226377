package dev.lite.client.reattach;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.LtSync;
import dev.lite.api.SessionLostException;
import dev.lite.client.reattach.SessionKeeper.Kept;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/** The locks and barriers of whichever session is open now. What is held is lost with its session. */
final class ReattachingSync implements LtSync {
    private final SessionKeeper keeper;

    ReattachingSync(SessionKeeper keeper) {
        this.keeper = keeper;
    }

    @Override
    public LtLock lock(String name) {
        return new CurrentLock(name);
    }

    @Override
    public LtBarrier barrier(String name, int parties) {
        return new CurrentBarrier(name, parties);
    }

    private final class CurrentLock implements LtLock {
        private final String name;
        private final Kept<LtLock> kept;

        CurrentLock(String name) {
            this.name = name;
            this.kept = new Kept<>(keeper, session -> session.sync().lock(name));
        }

        @Override
        public String name() {
            return name;
        }

        /** Asked for again at the next session: the place in the queue is gone with the last one, and so is nothing held. */
        @Override
        public HeldLock acquire(Duration deadline) {
            Kept.Made<LtLock> open = kept.madeIfOpen();
            if (open != null) {
                try {
                    return new KeptHold(open.session(), open.value().acquire(deadline));
                } catch (SessionLostException lost) {
                    return acquireAgain(deadline);
                }
            }
            return acquireAgain(deadline);
        }

        private HeldLock acquireAgain(Duration deadline) {
            long deadlineNs = SessionKeeper.deadlineNs(deadline);
            while (true) {
                try {
                    Kept.Made<LtLock> now = kept.made(deadlineNs);
                    return new KeptHold(now.session(), now.value().acquire(SessionKeeper.left(deadlineNs)));
                } catch (SessionLostException lost) {
                    keeper.afterLoss(lost, deadlineNs);
                }
            }
        }

        @Override
        public Optional<HeldLock> tryAcquire() {
            Kept.Made<LtLock> now = kept.made(keeper.deadlineNs());
            return now.value().tryAcquire().map(held -> new KeptHold(now.session(), held));
        }
    }

    /** What is held, noted at its session until it is closed. */
    private final class KeptHold implements HeldLock {
        private final Lite session;
        private final HeldLock held;
        private final AtomicBoolean closed = new AtomicBoolean();

        KeptHold(Lite session, HeldLock held) {
            this.session = session;
            this.held = held;
            keeper.acquired(session);
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
                if (closed.compareAndSet(false, true)) {
                    keeper.released(session);
                }
            }
        }

        @Override
        public String toString() {
            return held.toString();
        }
    }

    private final class CurrentBarrier implements LtBarrier {
        private final String name;
        private final int parties;
        private final Kept<LtBarrier> kept;

        CurrentBarrier(String name, int parties) {
            this.name = name;
            this.parties = parties;
            this.kept = new Kept<>(keeper, session -> session.sync().barrier(name, parties));
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public int parties() {
            return parties;
        }

        /** Not repeated: the round that this party had arrived at is broken for all. */
        @Override
        public long await(Duration deadline) {
            long deadlineNs = SessionKeeper.deadlineNs(deadline);
            return kept.get(deadlineNs).await(SessionKeeper.left(deadlineNs));
        }
    }
}

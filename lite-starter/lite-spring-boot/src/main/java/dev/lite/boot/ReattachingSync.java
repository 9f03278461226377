package dev.lite.boot;

import dev.lite.api.HeldLock;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.LtSync;
import dev.lite.api.SessionLostException;
import dev.lite.boot.SessionKeeper.Kept;
import java.time.Duration;
import java.util.Optional;

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
            LtLock open = kept.ifOpen();
            if (open != null) {
                try {
                    return open.acquire(deadline);
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
                    return kept.get(deadlineNs).acquire(SessionKeeper.left(deadlineNs));
                } catch (SessionLostException lost) {
                    keeper.afterLoss(lost, deadlineNs);
                }
            }
        }

        @Override
        public Optional<HeldLock> tryAcquire() {
            return kept.get(keeper.deadlineNs()).tryAcquire();
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

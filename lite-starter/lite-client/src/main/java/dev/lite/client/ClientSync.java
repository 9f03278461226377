package dev.lite.client;

import dev.lite.api.HeldLock;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.LtSync;
import dev.lite.client.DataPath.Outcome;
import dev.lite.os.waiting.Durations;
import dev.lite.session.protocol.SessionMessage.AcquireLock;
import dev.lite.session.protocol.SessionMessage.Acquired;
import dev.lite.session.protocol.SessionMessage.AwaitBarrier;
import dev.lite.session.protocol.SessionMessage.CancelTry;
import dev.lite.session.protocol.SessionMessage.LockOpened;
import dev.lite.session.protocol.SessionMessage.OpenLock;
import dev.lite.session.protocol.SessionMessage.Passed;
import dev.lite.session.protocol.SessionMessage.ReleaseLock;
import dev.lite.session.protocol.SessionProtocol.Op;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@link LtSync} of a session. Acquiring and releasing a free lock take one round trip each on the data path. So does waiting for a lock,
 * while few of the session's slots are taken by waits: a holder must find one for its release. Other waits are requests on the control
 * channel. An interrupt does not end a wait here; it is kept for the caller. Any thread.
 */
final class ClientSync implements LtSync {
    private static final Logger LOG = LoggerFactory.getLogger(ClientSync.class);

    /** One slot of so many may be taken by a wait for a lock. */
    private static final int WAITS_PART = 4;

    private final Session session;
    private final AtomicLong attempts = new AtomicLong();
    /** For waits in slots. */
    private final Semaphore waitsInSlots;

    ClientSync(Session session) {
        this.session = session;
        waitsInSlots = new Semaphore(session.data().slotCount() / WAITS_PART);
    }

    @Override
    public LtLock lock(String name) {
        LtSync.checkName(name);
        return new ClientLock(name, open(name, session.deadlineNs()));
    }

    /** The number of the lock with this name. */
    private long open(String name, long timeoutNs) {
        return session.requests()
                .ask(
                        "lock \"%s\"".formatted(name),
                        LockOpened.class,
                        timeoutNs,
                        id -> new OpenLock(id, Session.forNode(timeoutNs), name),
                        null)
                .number();
    }

    @Override
    public LtBarrier barrier(String name, int parties) {
        LtSync.checkName(name);
        LtSync.checkParties(parties);
        if (!session.isOpen()) {
            throw session.lost();
        }
        return new ClientBarrier(name, parties);
    }

    /**
     * The node's time-out for a wait that is sent now. The request may have waited for its turn before: the node must not wait with it
     * for longer than the caller does, as a party at a barrier that has left it.
     */
    private static long forNodeUntil(long deadlineNs) {
        return Session.forNode(Math.max(1, deadlineNs - System.nanoTime()));
    }

    private final class ClientBarrier implements LtBarrier {
        private final String name;
        private final int parties;

        ClientBarrier(String name, int parties) {
            this.name = name;
            this.parties = parties;
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public int parties() {
            return parties;
        }

        @Override
        public long await(Duration deadline) {
            long timeoutNs = LiteClient.toNanos(deadline);
            long deadlineNs = System.nanoTime() + timeoutNs;
            try {
                return session.requests()
                        .askAndWait(
                                "waiting for %d parties at barrier \"%s\"".formatted(parties, name),
                                Passed.class,
                                timeoutNs,
                                id -> new AwaitBarrier(id, forNodeUntil(deadlineNs), name, parties),
                                null)
                        .round();
            } catch (LiteTimeoutException e) { // may name the node's deadline, which is a little shorter
                throw new LiteTimeoutException(
                        "barrier \"%s\" of %d parties was not passed within its deadline of %s: %s"
                                .formatted(name, parties, Durations.text(timeoutNs), e.getMessage()));
            }
        }

        @Override
        public String toString() {
            return "LtBarrier[%s, %d parties]".formatted(name, parties);
        }
    }

    private final class ClientLock implements LtLock {
        private final String name;

        /** Another one after the node has forgotten it. It does not while the session holds the lock. */
        private volatile long number;

        ClientLock(String name, long number) {
            this.name = name;
            this.number = number;
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public HeldLock acquire(Duration deadline) {
            long timeoutNs = LiteClient.toNanos(deadline);
            long deadlineNs = System.nanoTime() + timeoutNs;
            long losses = session.data().locksLost();
            long token = attempt(Op.TRY_LOCK, deadlineNs, timeoutNs);
            if (token != 0) {
                return new ClientHeldLock(this, token, losses);
            }
            if (waitsInSlots.tryAcquire()) {
                try {
                    token = attempt(Op.LOCK, deadlineNs, timeoutNs);
                } finally {
                    waitsInSlots.release();
                }
                if (token == 0) {
                    throw new IllegalStateException("the node cancelled a wait for lock \"%s\"".formatted(name));
                }
                return new ClientHeldLock(this, token, losses);
            }
            long leftNs = Math.max(1, deadlineNs - System.nanoTime());
            Acquired acquired = session.requests()
                    .askAndWait(
                            "waiting for lock \"%s\"".formatted(name),
                            Acquired.class,
                            leftNs,
                            id -> new AcquireLock(id, forNodeUntil(deadlineNs), number),
                            (id, late) -> new ReleaseLock(id, number, late));
            return new ClientHeldLock(this, acquired.token(), losses);
        }

        @Override
        public Optional<HeldLock> tryAcquire() {
            long losses = session.data().locksLost();
            long token = attempt(Op.TRY_LOCK, System.nanoTime() + session.deadlineNs(), session.deadlineNs());
            return token == 0 ? Optional.empty() : Optional.of(new ClientHeldLock(this, token, losses));
        }

        /** Returns the fencing token, or 0 when the lock is not free. */
        private long attempt(int op, long deadlineNs, long timeoutNs) {
            try {
                try {
                    return attemptOnce(op, deadlineNs);
                } catch (LmrNotFoundException forgotten) { // the session has opened very many other locks since then
                    number = open(name, Math.max(1, deadlineNs - System.nanoTime()));
                    return attemptOnce(op, deadlineNs);
                }
            } catch (LiteTimeoutException e) {
                throw new LiteTimeoutException("lock \"%s\" was not acquired within its deadline of %s: %s"
                        .formatted(name, Durations.text(timeoutNs), e.getMessage()));
            }
        }

        private long attemptOnce(int op, long deadlineNs) {
            long its = number;
            long attempt = attempts.incrementAndGet();
            return command(op, its, attempt, deadlineNs, () -> cancel(its, attempt));
        }

        /** Cancels an attempt that the node may still execute. Does not wait for the answer. */
        private void cancel(long its, long attempt) {
            session.requests().postRelease(id -> new CancelTry(id, its, attempt));
        }

        /** Asks the node whether this token still holds the lock; false also when the node does not answer. */
        boolean isHeldAtNode(long token) {
            try {
                return command(Op.LOCK_HELD, number, token, System.nanoTime() + session.deadlineNs()) != 0;
            } catch (LiteException e) {
                LOG.debug("lock {}: nobody can tell whether it is still held: {}", name, e.getMessage());
                return false;
            }
        }

        void release(long token) {
            try {
                if (command(Op.UNLOCK, number, token, System.nanoTime() + session.deadlineNs()) != 0) {
                    return;
                }
            } catch (LiteException e) {
                if (!session.isOpen()) {
                    throw e;
                }
                // For example, the lock's home cannot be reached. The node must still learn of the release, or it would
                // hold the lock for an application that has already released it.
                LOG.debug("lock {}: releasing it on the control channel instead: {}", name, e.getMessage());
            }
            session.requests()
                    .askToRelease(
                            "release of lock \"%s\"".formatted(name),
                            session.deadlineNs(),
                            id -> new ReleaseLock(id, number, token));
        }

        @Override
        public String toString() {
            return "LtLock[%s, node %s]".formatted(name, session.nodeName());
        }
    }

    private long command(int op, long number, long operand, long deadlineNs) {
        return command(op, number, operand, deadlineNs, () -> {});
    }

    /**
     * Executes one command on the data path and returns its result.
     *
     * @param unanswered runs if the node did not answer in time, and so may still execute the command
     */
    private long command(int op, long number, long operand, long deadlineNs, Runnable unanswered) {
        DataPath data = session.data();
        SlotPool.Use use = op == Op.LOCK ? SlotPool.Use.CALL : SlotPool.Use.OTHER;
        int slot = data.slots().acquire(use, deadlineNs);
        if (slot < 0) {
            if (!session.isOpen()) {
                throw session.lost();
            }
            throw new LiteTimeoutException(
                    "all slots of the session with node %s were in use until the deadline (lite.node.session.slots)"
                            .formatted(session.nodeName()));
        }
        try {
            data.slots().workFor(slot, number); // no handle has so small a number
            if (!session.isOpen()) {
                throw session.lost();
            }
            long nodeTimeoutNs = op == Op.LOCK ? forNodeUntil(deadlineNs) : session.nodeTimeoutNs();
            data.submit(slot, op, number, 0, 0, operand, 0, nodeTimeoutNs);
            Outcome outcome = data.await(slot, deadlineNs);
            if (outcome == Outcome.LOST) {
                throw session.lost();
            }
            if (outcome == Outcome.TIMED_OUT) {
                unanswered.run();
                throw new LiteTimeoutException("node %s did not answer in time".formatted(session.nodeName()));
            }
            data.check(slot);
            return data.result(slot);
        } finally {
            data.returnSlot(slot);
        }
    }

    /**
     * A held lock. The node counts its losses of locks in the session's shared memory, before any operation that it had
     * paused continues. While the count is the one from before the lock was acquired, the lock is held. After another count
     * only the node can tell, because a loss need not concern this lock.
     */
    private final class ClientHeldLock implements HeldLock {
        private final ClientLock lock;
        private final long token;
        private final AtomicBoolean released = new AtomicBoolean();

        /** A count of losses at which the lock was held. */
        private volatile long losses;

        ClientHeldLock(ClientLock lock, long token, long losses) {
            this.lock = lock;
            this.token = token;
            this.losses = losses;
            session.use().locks().put(this, lock.name());
        }

        @Override
        public String name() {
            return lock.name();
        }

        @Override
        public long fencingToken() {
            return token;
        }

        @Override
        public boolean isHeld() {
            if (released.get() || !session.isOpen()) {
                return false;
            }
            long now = session.data().locksLost();
            if (now == losses) {
                return true;
            }
            if (now < 0 || !lock.isHeldAtNode(token)) {
                return false;
            }
            losses = now; // read before the node answered
            return true;
        }

        @Override
        public void close() {
            if (!released.compareAndSet(false, true)) {
                return;
            }
            session.use().locks().remove(this);
            if (!session.isOpen()) {
                return;
            }
            try {
                lock.release(token);
            } catch (LiteException e) {
                if (session.isOpen()) {
                    throw e;
                }
                // The end of the session released it.
            }
        }

        /** Does not ask the node, unlike {@link #isHeld}. */
        @Override
        public String toString() {
            return "HeldLock[%s, token %d, %s]".formatted(name(), token, released.get() ? "closed" : "open");
        }
    }
}

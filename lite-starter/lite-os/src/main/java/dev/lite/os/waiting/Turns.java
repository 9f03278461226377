package dev.lite.os.waiting;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Lets the threads of a process take turns if they repeat short operations, and the processors are too few for all of them. An
 * operation is short if another process answers within some pauses. When more threads wait than there are processors, they keep that
 * process from running: answers come late, threads sleep and are woken, which costs ten operations. A thread alone needs neither.
 *
 * <p>A thread calls {@link #begin} before an operation and {@link #late} before it sleeps for an answer. As long as not several
 * threads are late, nobody is held up. From then on a thread that repeats short operations stands aside until it has the turn.
 * A turn lasts about {@value #TURN_NS} ns; its thread operates at full speed. Then that thread wakes the next one and sleeps, so the
 * processors of both sides stay as they are. Others do not stand aside: threads whose last operation began a while ago, those whose
 * operations were long in their turn, and virtual threads. When the operations of several turns were few or long, taking turns ends,
 * and begins again only after more late threads.
 *
 * <p>This only saves time: nothing depends on who has the turn, and nobody stands aside for long. With more than two processors,
 * groups of threads take turns independently. Any thread.
 */
public final class Turns {
    private static final long TURN_NS = 1_000_000;
    /** The owner of a turn reads the clock after so many operations. */
    private static final int CHECK = 32;
    /** A turn may come so much later than expected. */
    private static final long LATE_NS = 2_000_000;
    /** The mean time from the begin of a short operation to that of the next one. */
    private static final long SHORT_NS = 10_000;
    /** A thread whose last operation began earlier does not stand aside. */
    private static final long AGAIN_NS = 2 * TURN_NS;
    /** A thread whose operations were long in its turn does not stand aside for so long. */
    private static final long EXEMPT_NS = 20_000_000;
    /** Nobody stands aside for longer. */
    private static final long ASIDE_NS_MAX = TimeUnit.MILLISECONDS.toNanos(20);

    /** A turn with fewer operations did not help. */
    private static final int OPERATIONS_MIN = 20;

    private static final int MISSES_MAX = 3;
    private static final int LATE_MIN = 8;
    private static final int LATE_MAX = 1 << 14;
    private static final int THREADS = 64;

    private final Group[] groups;

    /** Turns for this process. */
    public Turns() {
        this(Math.max(1, Runtime.getRuntime().availableProcessors() - 1));
    }

    /** @param atOnce the number of threads that have a turn at the same time */
    Turns(int atOnce) {
        groups = new Group[atOnce];
        for (int i = 0; i < atOnce; i++) {
            groups[i] = new Group();
        }
    }

    /**
     * Before an operation. May wait, but not longer than half of the time until the deadline.
     *
     * @param deadlineNs of {@link System#nanoTime}
     */
    public void begin(long deadlineNs) {
        Group group = mine();
        if (group.on) {
            group.begin(deadlineNs);
        }
    }

    /** The answer has not come, and the calling thread will sleep now. */
    public void late() {
        Group group = mine();
        if (!group.on && !Thread.currentThread().isVirtual()) {
            group.late();
        }
    }

    private Group mine() {
        return groups.length == 1
                ? groups[0]
                : groups[(int) (Thread.currentThread().threadId() % groups.length)];
    }

    /** Whether the calling thread should {@link #begin} operations. */
    public boolean areOn() {
        return mine().on;
    }

    /** Whether the thread has the turn; for tests. */
    boolean hasTurn(Thread thread) {
        return mine().owner == thread;
    }

    /** Threads of which one has the turn. */
    private static final class Group {
        private volatile boolean on;
        /** The thread that has the turn. */
        private volatile @Nullable Thread owner;
        /** Counts the owner's operations. Written by the owner, now and then by two: lost updates do not matter. */
        private final AtomicLong operations = new AtomicLong();
        /** The threads that stand aside. */
        private final Queue<Thread> aside = new ConcurrentLinkedQueue<>();

        // By thread, modulo their length; written while threads take turns, except by the owner.
        /** The begin of the last operation. */
        private final AtomicLongArray begins = new AtomicLongArray(THREADS);
        /** The end of its last turn with long operations. */
        private final AtomicLongArray exempt = new AtomicLongArray(THREADS);

        // Lost updates of these do not matter.
        private long turnBeganNs;
        private long turnBeganWith;
        private @Nullable Thread lastLate;
        private int late;
        private int lateMax = LATE_MIN;
        private int misses;

        void begin(long deadlineNs) {
            Thread me = Thread.currentThread();
            if (owner != me) {
                beginWithoutTurn(me, deadlineNs);
                return;
            }
            long count = operations.getPlain() + 1;
            operations.setOpaque(count);
            if (count % CHECK == 0) {
                long nowNs = System.nanoTime();
                if (nowNs - turnBeganNs >= TURN_NS) {
                    passOn(me, nowNs, deadlineNs);
                }
            }
        }

        private void beginWithoutTurn(Thread me, long deadlineNs) {
            if (me.isVirtual()) {
                return;
            }
            int index = index(me);
            long nowNs = System.nanoTime();
            long sinceNs = nowNs - begins.getPlain(index);
            begins.setPlain(index, nowNs);
            if (nowNs - exempt.getPlain(index) >= EXEMPT_NS && sinceNs < AGAIN_NS) {
                if (owner == null) {
                    own(me, nowNs); // perhaps two at the same time: the last one has it
                } else {
                    standAside(me, nowNs, deadlineNs);
                }
            }
        }

        private static int index(Thread thread) {
            return (int) (thread.threadId() & (THREADS - 1));
        }

        private void own(Thread next, long nowNs) {
            turnBeganNs = nowNs;
            turnBeganWith = operations.getOpaque();
            owner = next;
        }

        /** The owner's turn is over. It wakes the next thread and then sleeps itself, so that one takes its processor. */
        private void passOn(Thread me, long nowNs, long deadlineNs) {
            boolean wereShort = (nowNs - turnBeganNs) / SHORT_NS <= operations.getOpaque() - turnBeganWith;
            if (wereShort) {
                misses = 0;
                lateMax = LATE_MIN;
            } else {
                exempt.setPlain(index(me), nowNs);
                if (missed()) {
                    return;
                }
            }
            Thread next = aside.poll();
            own(next == null ? me : next, nowNs);
            if (next != null) {
                begins.setPlain(index(me), nowNs);
                LockSupport.unpark(next);
                if (wereShort) {
                    standAside(me, nowNs, deadlineNs);
                }
            }
        }

        /** A turn did not help. Ends taking turns after several of these in a row; returns whether it did. */
        private boolean missed() {
            if (++misses < MISSES_MAX) {
                return false;
            }
            misses = 0;
            lateMax = Math.min(LATE_MAX, 2 * lateMax);
            on = false;
            for (Thread next = aside.poll(); next != null; next = aside.poll()) {
                LockSupport.unpark(next);
            }
            return true;
        }

        private void standAside(Thread me, long beganNs, long deadlineNs) {
            long patientNs = Math.min(ASIDE_NS_MAX, (aside.size() + 2) * TURN_NS + LATE_NS);
            long endNs = beganNs + Math.min(patientNs, (deadlineNs - beganNs) / 2);
            long before = operations.getOpaque();
            aside.add(me);
            boolean interrupted = false;
            long leftNs = endNs - beganNs;
            while (on && owner != me && leftNs > 0) {
                LockSupport.parkNanos(this, leftNs);
                interrupted |= Thread.interrupted();
                leftNs = endNs - System.nanoTime();
            }
            if (owner != me && aside.remove(me) && on) {
                takeFromIdle(me, operations.getOpaque() - before);
            }
            if (interrupted) {
                me.interrupt();
            }
        }

        /** Its turn did not come in time. It takes the turn if the owner made few operations. */
        private void takeFromIdle(Thread me, long made) {
            if (made >= OPERATIONS_MIN) {
                return;
            }
            if (!missed()) {
                own(me, System.nanoTime());
            }
        }

        void late() {
            Thread me = Thread.currentThread();
            if (lastLate == me) {
                return;
            }
            lastLate = me;
            if (++late >= lateMax) {
                late = 0;
                long longAgoNs = System.nanoTime() - EXEMPT_NS;
                for (int i = 0; i < THREADS; i++) {
                    exempt.setPlain(i, longAgoNs);
                }
                owner = null;
                on = true;
            }
        }
    }
}

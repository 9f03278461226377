package dev.lite.tier.peer;

import dev.lite.fabric.Fabric;
import dev.lite.os.waiting.Polling;
import dev.lite.session.protocol.SpinBudget;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The poll role of a fabric. One thread at a time holds it, and it passes between waiting threads (leader and
 * followers). The holder polls the fabric for itself and dispatches events for the others. It spins briefly, then
 * blocks in the fabric. Followers spin briefly, then park. So two nodes answer a call with two running threads.
 *
 * <p><b>The fabric never stays unpolled.</b> A holder that leaves frees the role and wakes one follower, its heir. An
 * heir that no longer needs the role passes it on in the same way. If there is no follower, the holder arms the fabric,
 * and the platform thread "lite-poll-…" waits on standby and takes the role at the next event. A running thread may
 * take it first.
 *
 * <p>A virtual thread never holds the role, because blocking in the fabric would pin its carrier. It parks, and the
 * standby thread polls for it. No user code runs while the role is held. Waiting allocates nothing. Any thread.
 */
public final class PollRole implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(PollRole.class);

    private static final int ARMED = 0; // free; the next event wakes the standby thread
    private static final int INHERITED = 1; // free; an heir was woken, or the standby thread was not started yet
    private static final int HELD = 2;
    private static final int CLOSED = 3;

    private static final int POLL_LIMIT = 256;
    /**
     * A leaving holder polls up to this often while arming fails because of new events; then it wakes the standby
     * thread.
     */
    private static final int LAST_POLLS = 8;
    /** While it spins, the holder checks its deadline once in this many polls; a power of two. */
    private static final int CLOCK_CHECK_ROUNDS = 64;
    /** Bounds how late the holder sees an interrupt. No wake-up depends on it. */
    private static final long SLEEP_NS_MAX = 100_000_000;

    private static final long STANDBY_WAIT_NS = 1_000_000_000;
    private static final long CLOSE_PAUSE_NS = 50_000;
    private static final long CLOSE_MS = 5_000;

    private final Fabric fabric;
    private final SpinBudget spins;
    /**
     * For virtual threads: they spin while others poll, and many spinning threads would take the pollers' processors.
     */
    private final SpinBudget spinsOfVirtual;

    /**
     * For the standby thread: without a spare processor, its spinning keeps the threads that it polls for from running.
     */
    private final SpinBudget standbySpins;

    private final int pollCost;
    private final Thread standbyThread;
    private final AtomicInteger state = new AtomicInteger(INHERITED);
    /** Times that the standby thread took the role: wake-ups that no waiting caller saved. */
    private final LongAdder standbyWakeups = new LongAdder();

    private final Object lock = new Object();
    // Parked platform threads, oldest first; written under the lock. At most one entry per thread.
    private volatile @Nullable PollWaiter firstFollower;
    private @Nullable PollWaiter lastFollower;
    private volatile boolean stopped;

    /** Set when a running caller found the role held. A thread that polls only for others then releases the role. */
    private volatile boolean wanted;

    /**
     * @param spins maximum spins before a waiting thread blocks. The number of polls is this divided by the cost of a
     *     poll.
     *     The spin must last longer than the wake-up of a thread. Otherwise two nodes that once found each other asleep
     *     would do so forever
     */
    PollRole(Fabric fabric, int spins) {
        this.fabric = fabric;
        this.spins = new SpinBudget(spins);
        this.spinsOfVirtual = new SpinBudget(spins);
        this.standbySpins = new SpinBudget(spins);
        this.pollCost = fabric.pollCost();
        this.standbyThread =
                Thread.ofPlatform().name("lite-poll-" + fabric.name()).daemon().unstarted(this::run);
    }

    void start() {
        standbyThread.start();
    }

    /** Times that the standby thread took the role because no thread waited when an event came. */
    public long standbyWakeups() {
        return standbyWakeups.sum();
    }

    /**
     * Takes the role if it is free. A thread calls this before it posts and then waits in {@link #await} for the
     * answer, so that the answer wakes no other thread. The caller must call {@link #await} or {@link #release} next.
     * Never blocks.
     *
     * @return whether the caller now holds the role; a virtual thread never does
     */
    public boolean take() {
        return !stopped && !Thread.currentThread().isVirtual() && takeFree();
    }

    private boolean takeFree() {
        int seen = state.get();
        if (seen > INHERITED || !state.compareAndSet(seen, HELD)) {
            return false;
        }
        if (seen == ARMED) {
            fabric.disarm();
        }
        return true;
    }

    /** Passes the role on. Called by its holder. */
    public void release() {
        PollWaiter heir = nextHeir();
        if (heir != null) {
            state.set(INHERITED);
            heir.wakeToLead();
            return;
        }
        boolean idle = fabric.arm();
        for (int polls = 0; !idle && polls < LAST_POLLS; polls++) {
            poll();
            idle = fabric.arm();
        }
        state.set(ARMED);
        // Either this thread sees a follower that just saw the role held, or the follower sees that the role is free.
        heir = nextHeir();
        if (heir != null) {
            heir.wakeToLead();
        }
        if (!idle) {
            fabric.wakeup();
        }
    }

    /**
     * Waits until the waiter's condition is true. Polls if no other thread does.
     *
     * @param deadlineNs a time of {@link System#nanoTime}
     * @param held whether the caller holds the role, from {@link #take}; this method always releases it
     * @return whether the condition is true; otherwise the deadline passed or the thread was interrupted
     */
    public boolean await(PollWaiter waiter, long deadlineNs, boolean held) {
        if (held) {
            lead(waiter, deadlineNs);
        }
        if (Thread.currentThread().isVirtual()) {
            return awaitOthers(waiter, deadlineNs);
        }
        boolean followed = false;
        for (int idle = 0; !waiter.isOver(); ) {
            if (take()) {
                lead(waiter, deadlineNs);
            } else if (idle == 0) {
                idle = 1;
                wanted = true;
            } else if (idle < spins.spins()) {
                idle++;
                Thread.onSpinWait();
                continue;
            }
            if (waiter.isOver()) {
                break;
            }
            long leftNs = deadlineNs - System.nanoTime();
            if (leftNs <= 0 || Thread.currentThread().isInterrupted()) {
                break;
            }
            follow(waiter, leftNs);
            followed = true;
        }
        if (followed && state.get() == INHERITED && take()) {
            release(); // this thread was made the heir, but no longer needs the role
        }
        return waiter.isOver();
    }

    /** {@link #await} for a virtual thread. Another thread polls for it. */
    private boolean awaitOthers(PollWaiter waiter, long deadlineNs) {
        for (int spinsLeft = spinsOfVirtual.spins(); spinsLeft > 0; spinsLeft--) {
            if (waiter.isOver()) {
                spinsOfVirtual.hit();
                return true;
            }
            Thread.onSpinWait();
        }
        spinsOfVirtual.miss();
        return waiter.awaitAlone(deadlineNs, 0);
    }

    private void lead(PollWaiter waiter, long deadlineNs) {
        try {
            int idle = 0;
            int budget = polls(spins);
            for (int rounds = 1; !waiter.isOver(); rounds++) {
                boolean looked = false;
                if (poll() > 0) {
                    if (idle > 0) {
                        spins.hit(); // an event of the first poll is no hit: it was there already or woke this thread
                    }
                    idle = 0;
                } else if (idle < budget) {
                    idle++;
                    Thread.onSpinWait();
                } else {
                    spins.miss();
                    budget = polls(spins);
                    sleep(waiter, deadlineNs);
                    idle = 0;
                    looked = true;
                }
                if ((looked || (rounds & (CLOCK_CHECK_ROUNDS - 1)) == 0)
                        && (stopped
                                || deadlineNs - System.nanoTime() <= 0
                                || Thread.currentThread().isInterrupted())) {
                    return;
                }
            }
        } finally {
            release();
        }
    }

    private void sleep(PollWaiter waiter, long deadlineNs) {
        waiter.announceAsleep(this);
        try {
            if (!waiter.isOver() && !stopped) {
                fabric.await(Math.clamp(deadlineNs - System.nanoTime(), 0, SLEEP_NS_MAX));
            }
        } finally {
            waiter.announceAsleep(null);
        }
    }

    private void follow(PollWaiter waiter, long leftNs) {
        waiter.announceParked();
        addFollower(waiter);
        try {
            // Check after the announcement: a thread that signals or frees the role later sees the announcement.
            if (!waiter.isOver() && (stopped || state.get() == HELD)) {
                LockSupport.parkNanos(this, leftNs);
            }
        } finally {
            waiter.announceUnparked();
            removeFollower(waiter);
        }
    }

    private void addFollower(PollWaiter waiter) {
        synchronized (lock) {
            waiter.follows = true;
            waiter.nextFollower = null;
            PollWaiter last = lastFollower;
            if (last == null) {
                firstFollower = waiter;
            } else {
                last.nextFollower = waiter;
            }
            lastFollower = waiter;
        }
    }

    private void removeFollower(PollWaiter waiter) {
        synchronized (lock) {
            if (!waiter.follows) {
                return; // this follower was made the heir
            }
            waiter.follows = false;
            PollWaiter before = null;
            for (PollWaiter at = firstFollower; at != waiter && at != null; at = at.nextFollower) {
                before = at;
            }
            if (before == null) {
                firstFollower = waiter.nextFollower;
            } else {
                before.nextFollower = waiter.nextFollower;
            }
            if (lastFollower == waiter) {
                lastFollower = before;
            }
            waiter.nextFollower = null;
        }
    }

    private @Nullable PollWaiter nextHeir() {
        if (firstFollower == null) {
            return null;
        }
        synchronized (lock) {
            PollWaiter heir = firstFollower;
            if (heir != null) {
                firstFollower = heir.nextFollower;
                if (lastFollower == heir) {
                    lastFollower = null;
                }
                heir.nextFollower = null;
                heir.follows = false;
            }
            return heir;
        }
    }

    /** Empty polls before blocking. */
    private int polls(SpinBudget budget) {
        return budget.spins() / pollCost;
    }

    /** Wakes the holder if it blocks in the fabric, so that it checks its condition. */
    void wakeup() {
        fabric.wakeup();
    }

    private int poll() {
        try {
            return fabric.poll(POLL_LIMIT);
        } catch (Throwable e) {
            // A defect, also an Error, must neither end the standby thread while it holds the role nor a caller's wait.
            log.error("polling the {} fabric failed; continuing", fabric.name(), e);
            return 0;
        }
    }

    private void run() {
        while (!stopped) {
            if (takeFree()) {
                pollForOthers();
                release();
            }
            try {
                fabric.awaitArmed(STANDBY_WAIT_NS);
            } catch (Throwable e) { // also an Error: without this thread nobody polls
                log.error("standing by for the {} fabric failed; continuing", fabric.name(), e);
                Polling.sleepNs(SLEEP_NS_MAX); // a defect must not burn a core
            }
        }
        while (state.get() > INHERITED || !state.compareAndSet(state.get(), CLOSED)) {
            fabric.wakeup();
            Polling.sleepNs(CLOSE_PAUSE_NS);
        }
        fabric.close();
    }

    /** Polls until no event came during the spin budget, or until a waiting thread can take over. */
    private void pollForOthers() {
        boolean some = false;
        wanted = false;
        int idle = 0;
        int budget = polls(standbySpins);
        while (idle <= budget && !stopped && !wanted && firstFollower == null) {
            if (poll() > 0) {
                if (idle > 0) {
                    standbySpins.hit();
                }
                idle = 0;
                some = true;
                budget = polls(standbySpins);
            } else {
                idle++;
                Thread.onSpinWait();
            }
        }
        if (idle > budget) {
            standbySpins.miss();
        }
        if (some) {
            standbyWakeups.increment();
        }
    }

    /** Waits until the role is free and the fabric is closed, but at most {@value #CLOSE_MS} ms. */
    @Override
    public void close() {
        stopped = true;
        fabric.wakeup();
        boolean interrupted = false;
        try {
            standbyThread.join(CLOSE_MS);
        } catch (InterruptedException e) {
            interrupted = true;
        }
        if (standbyThread.isAlive()) {
            log.warn("the {} fabric did not close within {} ms", fabric.name(), CLOSE_MS);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}

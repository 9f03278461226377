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
 * The poll role of a fabric, which passes to a waiting thread (leader and followers): a thread that waits for something which
 * the fabric brings polls itself while nobody else does, and so hands on what others wait for. It spins briefly, then
 * sleeps in the fabric. The others spin briefly, then park. So two nodes answer a call with two running threads.
 *
 * <p><b>Nothing stays unpolled.</b> A thread that leaves the role frees it and wakes a follower, its heir; an heir that needs the
 * role no more passes it on in the same way. If there is no follower the fabric is armed, and the platform thread
 * "lite-poll-…" waits on standby to take the role when something comes. A thread that comes in between, awake, may take the role first.
 *
 * <p>A virtual thread never holds the role, for a sleep in the fabric would pin its carrier: it parks, and the thread that
 * is on standby polls for it. No user code runs while the role is held. Waiting allocates nothing. Any thread.
 */
public final class PollRole implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(PollRole.class);

    private static final int ARMED = 0; // free; the stand-by is called when something comes
    private static final int INHERITED = 1; // free; an heir was woken, or the stand-by was not started yet
    private static final int HELD = 2;
    private static final int CLOSED = 3;

    private static final int POLL_LIMIT = 256;
    /** What comes while the leaver is about to leave it carries out itself, so often; then it calls the stand-by. */
    private static final int LAST_POLLS = 8;
    /** The holder checks its deadline every so many polls while it spins; a power of two. */
    private static final int CLOCK_CHECK_ROUNDS = 64;
    /** Nobody's wake-up depends on it; it bounds how late an interrupt is seen. */
    private static final long SLEEP_NS_MAX = 100_000_000;

    private static final long STAND_BY_NS = 1_000_000_000;
    private static final long CLOSE_PAUSE_NS = 50_000;
    private static final long CLOSE_MS = 5_000;

    private final Fabric fabric;
    private final SpinBudget spins;
    /** Of virtual threads: they spin while others poll, and many of them would leave no processor to those. */
    private final SpinBudget spinsOfVirtual;

    /** Of the standby thread: on a machine without a spare processor it keeps the threads that it polls for from running. */
    private final SpinBudget spinsOfStandBy;

    private final int pollCost;
    private final Thread standBy;
    private final AtomicInteger state = new AtomicInteger(INHERITED);
    /** How often the standby thread had to take the role: the wake-ups that callers did not spare. */
    private final LongAdder takenByStandBy = new LongAdder();

    private final Object lock = new Object();
    // Platform threads that park, the oldest first; written under the lock. At most one for each of them.
    private volatile @Nullable PollWaiter firstFollower;
    private @Nullable PollWaiter lastFollower;
    private volatile boolean stopped;

    /** A caller that is awake found the role held; a thread that polls only for others gives it up. */
    private volatile boolean wanted;

    /**
     * @param spins spins before a waiting thread sleeps, at most; it polls as many times less as a poll costs
     *     more. It pays only when it is longer than it takes
     *     to wake a thread: otherwise two nodes that found each other asleep once would do so for ever
     */
    PollRole(Fabric fabric, int spins) {
        this.fabric = fabric;
        this.spins = new SpinBudget(spins);
        this.spinsOfVirtual = new SpinBudget(spins);
        this.spinsOfStandBy = new SpinBudget(spins);
        this.pollCost = fabric.pollCost();
        this.standBy =
                Thread.ofPlatform().name("lite-poll-" + fabric.name()).daemon().unstarted(this::run);
    }

    void start() {
        standBy.start();
    }

    /** How often the standby thread took the role because nobody waited when something came. */
    public long takenByStandBy() {
        return takenByStandBy.sum();
    }

    /**
     * Takes the role if it is free, for a thread that is about to post something and to {@link #await} the answer: so the
     * answer wakes nobody. {@link #await} or {@link #release} follows. Never blocks.
     *
     * @return whether the caller has it now; a virtual thread never gets it
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

    /** Passes the role on. Its holder. */
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
        // A follower that saw the role held just now is seen here, or it saw that the role is free.
        heir = nextHeir();
        if (heir != null) {
            heir.wakeToLead();
        }
        if (!idle) {
            fabric.wakeup();
        }
    }

    /**
     * Waits until it comes true, polling if nobody else does.
     *
     * @param deadlineNs of {@link System#nanoTime}
     * @param held whether the caller has the role, from {@link #take}; it has it no more afterwards
     * @return whether it came true; otherwise the deadline passed or the thread was interrupted
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
            release(); // it was the heir, and does not need it
        }
        return waiter.isOver();
    }

    /** {@link #await} of a virtual thread, for which somebody else polls. */
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
                        spins.hit(); // not what was there at once, or is why the thread was woken
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
            // After the announcement: a thread that signals, or frees the role, after this check sees it.
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
                return; // it was made the heir
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

    /** Empty polls before a sleep. */
    private int polls(SpinBudget budget) {
        return budget.spins() / pollCost;
    }

    /** Wakes the holder, if it sleeps, to check what it waits for. */
    void wakeup() {
        fabric.wakeup();
    }

    private int poll() {
        try {
            return fabric.poll(POLL_LIMIT);
        } catch (RuntimeException e) {
            // A driver's defect must not end the node's connections silently.
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
                fabric.standBy(STAND_BY_NS);
            } catch (RuntimeException e) {
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

    /** Polls until nothing comes for a while, or a waiting thread can take over. */
    private void pollForOthers() {
        boolean some = false;
        wanted = false;
        int idle = 0;
        int budget = polls(spinsOfStandBy);
        while (idle <= budget && !stopped && !wanted && firstFollower == null) {
            if (poll() > 0) {
                if (idle > 0) {
                    spinsOfStandBy.hit();
                }
                idle = 0;
                some = true;
                budget = polls(spinsOfStandBy);
            } else {
                idle++;
                Thread.onSpinWait();
            }
        }
        if (idle > budget) {
            spinsOfStandBy.miss();
        }
        if (some) {
            takenByStandBy.increment();
        }
    }

    /** Waits until the role is free, then closes the fabric; waits for that for a while. */
    @Override
    public void close() {
        stopped = true;
        fabric.wakeup();
        boolean interrupted = false;
        try {
            standBy.join(CLOSE_MS);
        } catch (InterruptedException e) {
            interrupted = true;
        }
        if (standBy.isAlive()) {
            log.warn("the {} fabric did not close within {} ms", fabric.name(), CLOSE_MS);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}

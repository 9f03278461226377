package dev.lite.tier.peer;

import dev.lite.fabric.Fabric;
import dev.lite.os.ThreadPriority;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.StagedWait;
import dev.lite.os.waiting.Turns;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.async.PollingHelp;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The poll role of a fabric. One thread at a time holds it, and it passes between waiting threads. The holder polls the
 * fabric for itself and dispatches events for the others. All wait in the stages of {@link StagedWait}: the holder then
 * sleeps in the fabric, the others park. So two nodes answer a call with two running threads.
 *
 * <p><b>An event that comes is seen by a thread that is awake, or wakes one.</b> Exactly one of these holds at any
 * time: a thread holds the role; the role is free and a thread looks for it; the fabric is armed. A holder that leaves
 * passes the role to a thread that is awake and looks, if there is one. Otherwise it arms the fabric: the next event
 * wakes the platform thread "lite-poll-…", which stands by and polls, and signals those whom the event concerns. A
 * thread that stops looking and is the last one arms the fabric in the same way, if the role is free then. So a parked
 * thread is woken only when its own condition is true, never for the role.
 *
 * <p>A virtual thread never blocks in the fabric, because that would pin its carrier. While virtual threads wait, one of
 * this class ("lite-poll-virtual-…") polls for them and then yields. So those whom an event concerns run next on its
 * carrier, without a wake-up. It gives up the role whenever it yields, since other virtual threads may keep the carriers
 * for long. Then nobody polls until it runs again; so the standby thread looks for the role every
 * {@value #STANDBY_WAIT_BESIDE_VIRTUAL_NS} ns. No user code runs while the role is held. Waiting allocates nothing. Any
 * thread.
 */
public final class PollRole implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(PollRole.class);

    private static final int ARMED = 0; // free; the next event wakes the standby thread
    /** Free; a thread that is awake takes it: one that looks, or the standby thread before its first wait. */
    private static final int LOOKED_AFTER = 1;

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
    /** Threads beside the holder rather yield: their pauses would take the processor of one that has work. */
    private static final int PAUSES_OF_OTHERS_MAX = 100;

    /** While so many threads look for the role, further ones that wait for requests park at once. */
    private static final int AWAKE_FOR_REQUESTS_MAX = 2;

    /** A virtual thread that waits for an answer yields so often before it parks: most answers over shared memory come within that time. */
    private static final int YIELDS_OF_VIRTUALS = 4;
    /** The polling virtual thread lets others on its carrier run after so many looks. */
    private static final int LOOKS_OF_VIRTUAL = 256;

    private static final StagedWait SLEEP_AT_ONCE = new StagedWait(0);

    /** Bounds how late the holder sees an interrupt. No wake-up depends on it. */
    private static final long SLEEP_NS_MAX = 100_000_000;

    private static final long STANDBY_WAIT_NS = 1_000_000_000;
    /** The same while a virtual thread polls: other virtual threads may keep all carriers from it. */
    private static final long STANDBY_WAIT_BESIDE_VIRTUAL_NS = 10_000_000;

    private static final long CLOSE_PAUSE_NS = 50_000;
    private static final long CLOSE_MS = 5_000;

    private final Fabric fabric;
    private final StagedWait holdersWait;
    /** For those that find the role held: while others poll for them, their pauses succeed at another rate. */
    private final StagedWait lookersWait;

    /** The same for those that wait for requests, and take no turns. */
    private final StagedWait requestsWait;

    /** For the virtual thread that polls. */
    private final StagedWait virtualsWait;

    /**
     * For the standby thread: without a spare processor, its pauses keep the threads that it polls for from running.
     */
    private final StagedWait standbysWait;

    private final InlineCompletion inline = new InlineCompletion();
    private final int pollCost;
    /** Whether the threads that are awake poll in turns; without yields, each would wait until the system takes its processor. */
    private final boolean shares;

    /** For short waits; null: a fabric whose answers come from other hosts has none. */
    private final @Nullable Turns turns;

    private final Thread standbyThread;
    private final Thread virtualPoller;
    private final AtomicInteger state = new AtomicInteger(LOOKED_AFTER);
    /** Times that the standby thread took the role: wake-ups that no waiting caller saved. */
    private final LongAdder standbyWakeups = new LongAdder();

    /** Written by the holder, read without order. */
    private @Nullable Thread lastHolder;

    /** The threads in {@link #look}: awake, and they take the role when it is free. */
    private final AtomicInteger looking = new AtomicInteger();

    /** Set when {@link #takeOrAsk} found the role held. A thread that polls only for others then releases it. */
    private volatile boolean asked;

    /** A virtual thread waits, or has waited since {@link #virtualPoller} began to poll. */
    private volatile boolean virtualsWaitNow;

    private volatile boolean virtualPollerParked;

    /**
     * The standby thread was woken and found the role held. An event may have come after its holder had armed the fabric and looked for
     * events the last time.
     */
    private volatile boolean missed;

    /** Whether the virtual thread that waits since last is a server's. Written and read without order, as a guess. */
    private boolean virtualsServe;

    /** Odd while {@link #virtualPoller} polls; written by it. */
    private volatile int virtualPolls;

    private volatile boolean stopped;

    /**
     * @param spins maximum pauses of the holder before it yields and then blocks. The number of polls is this divided
     *     by the cost of a poll
     */
    PollRole(Fabric fabric, int spins) {
        this.fabric = fabric;
        this.virtualsWait = StagedWait.ofCarrier(spins, ThreadPriority::yieldProcessor);
        this.pollCost = fabric.pollCost();
        this.turns = pollCost == 1 ? new Turns() : null;
        int lookersSpins = Math.min(PAUSES_OF_OTHERS_MAX, spins);
        boolean cheap = turns != null;
        this.shares = cheap && spins > 0;
        this.holdersWait = cheap ? StagedWait.ofTurns(spins) : new StagedWait(spins);
        this.lookersWait = cheap ? StagedWait.ofFollowers(lookersSpins, true) : new StagedWait(lookersSpins);
        this.requestsWait = cheap ? StagedWait.ofFollowers(lookersSpins, false) : lookersWait;
        this.standbysWait = new StagedWait(lookersSpins);
        this.standbyThread =
                Thread.ofPlatform().name("lite-poll-" + fabric.name()).daemon().unstarted(this::run);
        this.virtualPoller =
                Thread.ofVirtual().name("lite-poll-virtual-" + fabric.name()).unstarted(this::runVirtually);
    }

    void start() {
        standbyThread.start();
        virtualPoller.start();
    }

    /** Turns of threads that repeat {@linkplain PollWaiter#isShort short} waits; null: they take none. */
    public @Nullable Turns turns() {
        return turns;
    }

    /** Times that the standby thread took the role because no thread waited when an event came. */
    public long standbyWakeups() {
        return standbyWakeups.sum();
    }

    /** Whether no virtual thread waits for one that polls for it. */
    boolean isVirtualPollerIdle() {
        return virtualPollerParked && !virtualsWaitNow;
    }

    /** How many threads are awake and take the role when it is free. */
    int looking() {
        return looking.get();
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

    /**
     * {@link #take} for a thread that will {@link #pollOnce} between its other work. If a thread holds the role that polls
     * only for others, it will release it soon.
     */
    public boolean takeOrAsk() {
        boolean taken = take();
        if (!taken && !asked) { // many threads ask; most find it set
            asked = true;
        }
        return taken;
    }

    /**
     * {@link #take} for a thread that posts and does not wait. Takes the role only while posts of this fabric complete
     * inline. After the post the caller must call {@link #pollAndRelease}.
     */
    public boolean takeToPost() {
        return inline.isLikely() && take();
    }

    /**
     * Polls once and releases the role, after {@link #takeToPost} and the post.
     *
     * @param ended whether the post has ended
     */
    public void pollAndRelease(BooleanSupplier ended) {
        int unused = pollOnce();
        inline.note(ended.getAsBoolean());
        releaseBriefly();
    }

    /** Polls once; called by the holder. Returns the number of events; -1: the fabric closes, release the role. */
    public int pollOnce() {
        return stopped ? -1 : poll();
    }

    /** A wait of this thread for asynchronous operations: it polls if no other thread does. */
    public PollingHelp.Wait newWait(BooleanSupplier over) {
        return new AsyncWait(over);
    }

    private final class AsyncWait extends PollWaiter implements PollingHelp.Wait {
        private final BooleanSupplier over;

        AsyncWait(BooleanSupplier over) {
            this.over = over;
        }

        @Override
        protected boolean isOver() {
            return over.getAsBoolean();
        }

        @Override
        public void await(long deadlineNs) {
            boolean unused = PollRole.this.await(this, deadlineNs, take());
        }
    }

    private boolean takeFree() {
        int seen = state.get();
        if (seen > LOOKED_AFTER || !state.compareAndSet(seen, HELD)) {
            return false;
        }
        if (seen == ARMED) {
            disarm();
        }
        lastHolder = Thread.currentThread();
        return true;
    }

    private void disarm() {
        try {
            fabric.disarm();
        } catch (Throwable e) { // an armed fabric only wakes more often; without its holder the role would stay held
            report("disarming", e);
        }
    }

    /**
     * Whether this thread was the last one that took the role. So if it says that it will poll soon, it means this fabric. A guess:
     * another thread may take the role meanwhile. Any thread.
     */
    public boolean wasMine() {
        return lastHolder == Thread.currentThread();
    }

    /** Passes the role on, before this thread sleeps or leaves. Called by its holder. Wakes nobody unless an event comes. */
    public void release() {
        boolean unused = release(false);
    }

    /** {@link #release} by a thread that will probably take the role again soon: events may be late until then. */
    public void releaseBriefly() {
        boolean unused = release(true);
    }

    /** Returns false if the fabric could not be armed: then the standby thread looks after the role. */
    private boolean release(boolean briefly) {
        boolean soon = briefly;
        boolean armed;
        do {
            if (missed) { // mostly not, and the store would cost more than the rest
                missed = false;
                soon = false; // what woke the standby thread may still be there
            }
            if (isLookedAfter()) {
                return true;
            }
            armed = armAndFree(soon);
            soon = false;
            // Either this thread sees here that the standby thread found the role held, or that one finds it free.
        } while (missed && takeFree());
        return armed;
    }

    /** Frees the role for a thread that looks for it; false: there is none, and this thread holds it. */
    private boolean isLookedAfter() {
        if (looking.get() == 0) {
            return false;
        }
        state.set(LOOKED_AFTER);
        // Either this thread sees here that the last one has stopped looking, or that one sees the new state.
        return looking.get() > 0 || !takeFree();
    }

    private boolean armAndFree(boolean briefly) {
        boolean idle = false;
        boolean armed = false;
        try {
            idle = briefly ? fabric.armBriefly() : fabric.arm();
            for (int polls = 0; !idle && polls < LAST_POLLS; polls++) {
                poll();
                idle = fabric.arm();
            }
            armed = true;
        } catch (Throwable e) { // also an Error: the role must not stay held
            report("arming", e);
        } finally {
            state.set(ARMED);
            if (!idle) {
                missed = false; // first: the standby thread looks again in any case, and this thread leaves
                fabric.wakeup();
            }
        }
        return armed;
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
            return awaitVirtually(waiter, deadlineNs);
        }
        while (!waiter.isOver()) {
            boolean led = staysAwake(waiter) && look(waiter, deadlineNs);
            if (waiter.isOver()) {
                break;
            }
            long leftNs = deadlineNs - System.nanoTime();
            if (leftNs <= 0 || Thread.currentThread().isInterrupted()) {
                break;
            }
            if (!led) { // otherwise it only passed the role on to those that are awake, too
                late(waiter);
                waiter.park(leftNs);
            }
        }
        return waiter.isOver();
    }

    private boolean awaitVirtually(PollWaiter waiter, long deadlineNs) {
        virtualsServe = waiter.isRequest();
        if (!virtualsWaitNow) {
            virtualsWaitNow = true;
            if (virtualPollerParked) {
                LockSupport.unpark(virtualPoller);
            }
        }
        int yields = waiter.isRequest() ? 0 : YIELDS_OF_VIRTUALS;
        for (int i = 0; i < yields && !waiter.isOver(); i++) {
            StagedWait.letOthersRun(); // the poller, on this carrier
        }
        return waiter.awaitAlone(deadlineNs, SLEEP_AT_ONCE);
    }

    private void runVirtually() {
        while (!stopped) {
            virtualPollerParked = true;
            // Either this thread sees here that one waits, or that one sees this thread parked.
            if (!virtualsWaitNow && !stopped) {
                LockSupport.park(this);
            }
            virtualPollerParked = false;
            if (virtualsWaitNow) {
                virtualsWaitNow = false;
                pollForVirtuals();
            }
        }
    }

    /** Polls until no event came for a while. */
    private void pollForVirtuals() {
        looking.getAndIncrement();
        try {
            noteVirtualPoll();
            int first = virtualsWait.begin(pollCost);
            int left = first;
            for (int looks = 1; !stopped; looks++) {
                int events = 0;
                if (takeFree()) {
                    events = poll();
                    state.set(LOOKED_AFTER); // by this thread, or by one that takes it meanwhile
                }
                if (events > 0) {
                    if (left != first) {
                        virtualsWait.hit(left);
                    } else if (virtualsServe) {
                        virtualsWait.ready(left);
                        if (turns == null) {
                            virtualsWait.giveWay();
                        }
                    }
                    first = left = virtualsWait.begin(pollCost);
                    StagedWait.letOthersRun();
                } else if (left == 0) {
                    return;
                } else {
                    left = virtualsWait.pause(left);
                    if (looks % LOOKS_OF_VIRTUAL == 0) {
                        StagedWait.letOthersRun();
                    }
                }
            }
        } finally {
            noteVirtualPoll();
            stopLooking(false);
        }
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // one thread
    private void noteVirtualPoll() {
        virtualPolls++;
    }

    /**
     * Whether a thread looks before it parks. For requests, few do: with many functions the next one is mostly for another thread, and each
     * that looks makes all others wait for its yields.
     */
    private boolean staysAwake(PollWaiter waiter) {
        return !waiter.isRequest() || looking.get() < AWAKE_FOR_REQUESTS_MAX;
    }

    /**
     * Stays awake for a while; leads when the role is free. While others look, too, it holds the role for one poll only and then yields:
     * the next one that runs polls, instead of waiting until the holder runs again.
     *
     * @return whether it led
     */
    private boolean look(PollWaiter waiter, long deadlineNs) {
        StagedWait wait = waiter.isRequest() ? requestsWait : lookersWait;
        looking.getAndIncrement();
        boolean over = false;
        boolean taken = false;
        try {
            int first = wait.begin(1);
            int left = first;
            over = waiter.isOver();
            while (!over) {
                boolean shared = isShared(1);
                if (shared && left == 0) {
                    break; // the others look after the role
                }
                taken = take();
                if (taken && shared) {
                    taken = false;
                    int unused = poll();
                    state.set(LOOKED_AFTER); // by this thread, or by one that takes it meanwhile
                    over = waiter.isOver();
                    if (over) {
                        break;
                    }
                    left = StagedWait.yieldsOnly(left);
                }
                if (taken || left == 0) {
                    break;
                }
                left = wait.pause(left);
                over = waiter.isOver();
            }
            if (left != first && over) { // does not ask the waiter: that may fail, while this thread holds the role
                wait.hit(left);
            }
        } finally {
            // A holder does not count: it would take itself for a thread that waits for its processor.
            stopLooking(taken);
        }
        if (taken) {
            lead(waiter, deadlineNs);
        }
        return taken;
    }

    /**
     * Whether the holder passes the role on when it yields: a poll costs little, and more than so many platform threads look for the role.
     * The virtual thread that polls does not count. While others keep its carrier, it does not poll.
     */
    private boolean isShared(int lookers) {
        return shares && looking.get() - (virtualPolls & 1) > lookers;
    }

    /** How many pauses one poll costs; see {@link Fabric#pollCost}. */
    public int pollCost() {
        return pollCost;
    }

    private void stopLooking(boolean taken) {
        if (looking.decrementAndGet() == 0 && !taken && state.get() == LOOKED_AFTER && takeFree()) {
            release(); // nobody else looks after the role
        }
    }

    private void lead(PollWaiter waiter, long deadlineNs) {
        boolean over = false;
        boolean atOnce = false;
        try {
            int first = holdersWait.begin(pollCost);
            int left = first;
            over = waiter.isOver();
            for (int rounds = 1; !over; rounds++) {
                boolean looked = false;
                if (poll() > 0) {
                    atOnce = rounds == 1;
                    if (left != first) {
                        holdersWait.hit(left); // no hit in the first poll: it was there already or woke this thread
                    }
                    if (!waiter.isOver()) {
                        left = holdersWait.begin(pollCost);
                        first = left = StagedWait.yieldsOnly(left); // those whom the event concerns run first
                    }
                } else if (left > 0 && isShared(0)) {
                    return;
                } else if (left > 0) {
                    left = holdersWait.pause(looking.get() > 0 ? StagedWait.yieldsOnly(left) : left);
                } else {
                    sleep(waiter, deadlineNs);
                    left = first = holdersWait.begin(pollCost);
                    looked = true;
                }
                if ((looked || (rounds & (CLOCK_CHECK_ROUNDS - 1)) == 0)
                        && (stopped
                                || deadlineNs - System.nanoTime() <= 0
                                || Thread.currentThread().isInterrupted())) {
                    return;
                }
                over = waiter.isOver();
            }
        } finally {
            boolean unused = release(over); // does not ask the waiter, which may have failed
        }
        if (atOnce && turns == null) { // the answers of the last requests went with the poll
            holdersWait.giveWay();
        }
    }

    private void late(PollWaiter waiter) {
        if (turns != null && waiter.isShort()) {
            turns.late();
        }
    }

    private void sleep(PollWaiter waiter, long deadlineNs) {
        late(waiter);
        waiter.announceAsleep(this);
        try {
            if (!waiter.isOver() && !stopped) {
                fabric.await(Math.clamp(deadlineNs - System.nanoTime(), 0, SLEEP_NS_MAX));
            }
        } finally {
            waiter.announceAsleep(null);
        }
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
            report("polling", e);
            return 0;
        }
    }

    private void report(String what, Throwable failure) {
        try {
            Unrecoverable.report(failure);
            log.error("{} the {} fabric failed; continuing", what, fabric.name(), failure);
        } catch (Throwable e) {
            // no memory for a message: the work is more important. Without memory, both may be the same object
        }
    }

    private void run() {
        int virtualPollsSeen = 0;
        boolean waited = false;
        while (!stopped) {
            if (takesAsStandby(waited)) {
                pollForOthers();
                if (!release(false)) {
                    Polling.sleepNs(SLEEP_NS_MAX); // a defect must not burn a core
                }
            }
            int seen = virtualPolls;
            boolean besideVirtual = seen != virtualPollsSeen || seen % 2 != 0;
            virtualPollsSeen = seen;
            waited = true;
            try {
                fabric.awaitArmed(besideVirtual ? STANDBY_WAIT_BESIDE_VIRTUAL_NS : STANDBY_WAIT_NS);
            } catch (Throwable e) { // also an Error: without this thread nobody polls
                report("standing by for", e);
                Polling.sleepNs(SLEEP_NS_MAX); // a defect must not burn a core
            }
        }
        while (!closesFree()) {
            fabric.wakeup();
            Polling.sleepNs(CLOSE_PAUSE_NS);
        }
        fabric.close();
    }

    /** Takes the role for good if it is free. */
    private boolean closesFree() {
        int seen = state.get(); // once: a thread may take the role between two reads
        return seen <= LOOKED_AFTER && state.compareAndSet(seen, CLOSED);
    }

    /**
     * Takes the role if it is free. Otherwise its holder looks once more for what woke this thread.
     *
     * @param waited whether this thread has waited, so that something may have woken it
     */
    private boolean takesAsStandby(boolean waited) {
        boolean taken = takeFree();
        if (!taken && waited) {
            missed = true;
            taken = takeFree();
        }
        return taken;
    }

    /** Polls until no event came for a while, or until another thread looks for the role. */
    private void pollForOthers() {
        asked = false;
        boolean some = false;
        int first = standbysWait.begin(pollCost);
        int left = first;
        while (!stopped) {
            if (poll() > 0) {
                some = true;
                if (left != first) {
                    standbysWait.hit(left);
                }
                first = left = StagedWait.yieldsOnly(standbysWait.begin(pollCost)); // those whom it concerns run first
            } else if (left == 0) {
                break;
            } else {
                left = standbysWait.pause(left);
            }
            if (looking.get() > 0 || asked) {
                break;
            }
        }
        if (some) {
            standbyWakeups.increment();
        }
    }

    /** Waits until the role is free and the fabric is closed, but at most {@value #CLOSE_MS} ms. */
    @Override
    public void close() {
        stopped = true;
        LockSupport.unpark(virtualPoller);
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

package dev.lite.session.channel;

import dev.lite.os.FutexWords;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.StagedWait;
import dev.lite.session.async.PollingHelp;
import dev.lite.session.waiting.VirtualWaits;
import java.util.concurrent.ThreadFactory;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;

/**
 * The calls through a channel on this host that no thread waits for. A thread that waits for the future of one polls for all of them.
 * While none does, the platform thread of the channel's {@link VirtualWaits} watches them.
 *
 * <p>A thread that has polled is expected back ({@link ExpectedPolls}). Until then the watching thread only looks once in a tick
 * whether it still comes: awake, it would take a processor from the threads that have work.
 */
final class StartedHere implements CallStarter, VirtualWaits.Others {
    private static final long TICK_NS = 1_000_000;
    /** A look at so many slots takes about as long as a pause. */
    private static final int SLOTS_PER_PAUSE = 4;
    /** A thread that polls reads the clock once in so many looks; a power of two. */
    private static final int CLOCK_LOOKS = 16;

    private final ChannelMemory memory;
    private final RequestBell bell;
    /** By slot: the generation of its call, written before the call begins. */
    private final int[] generations;

    private final StartedCalls calls;
    private final StagedWait wait;
    private final ExpectedPolls expected = new ExpectedPolls(System.nanoTime());
    private volatile long polledNs = System.nanoTime();

    /** Whose thread watches; also for the virtual threads that wait for their own calls. */
    final VirtualWaits waits;

    /** Whether the watching thread sleeps for a tick only. */
    private volatile boolean ticking;
    /** Whether the watching thread sleeps on words of the memory, and so is in it. Of that thread. */
    private boolean inMemory;

    /**
     * @param generations by slot
     * @param words of the virtual threads that wait for their own calls
     * @param spins the largest number of pauses before a thread sleeps
     * @param starter makes the watching thread
     * @param ender ends the call of a slot that no thread waits for; must not block or throw
     */
    StartedHere(
            ChannelMemory memory,
            RequestBell bell,
            int[] generations,
            VirtualWaits.Words words,
            int spins,
            ThreadFactory starter,
            IntConsumer ender) {
        this.memory = memory;
        this.bell = bell;
        this.generations = generations;
        calls = new StartedCalls(memory, ender);
        wait = new StagedWait(spins);
        waits = new VirtualWaits(words, this, spins, starter);
    }

    @Override
    public void begin(int slot, long deadlineNs) {
        waits.prepare();
        calls.begin(slot, deadlineNs);
    }

    @Override
    public void start(int slot, boolean soon, long nowNs) {
        if (soon) {
            expected.startedSoonBack(nowNs);
        }
        boolean comes = soon || expected.started(nowNs);
        boolean unused = bell.submit(slot);
        if (comes) {
            tick();
        } else {
            waits.look();
        }
    }

    /** A thread is expected: the watching thread must look after a tick. */
    private void tick() {
        if (!ticking) { // else it looks for whom it expects after this thread has said so
            waits.look();
        }
    }

    @Override
    public void endsStages() {
        expected.staged(System.nanoTime());
    }

    /** The channel has ended: all calls and waits do. In the memory. */
    void end() {
        try {
            int unused = calls.endAll();
        } finally {
            waits.lose();
        }
    }

    /** Ends the calls that are over; returns how many. In the memory. */
    private int poll() {
        if (memory.isEnded()) {
            return calls.endAll();
        }
        return calls.endAll(slot -> !SlotWord.isWaiting(RawMemory.getIntAcquire(memory.word(slot)), generations[slot]));
    }

    @Override
    public boolean arePolled() {
        return expected.isExpected() && expected.goesOn(System.nanoTime(), polledNs);
    }

    @Override
    public int endOver() {
        // First whether they are polled: that ends the expectation, also when there are none any more.
        if (arePolled() || !calls.isAny() || !memory.enter()) {
            return 0;
        }
        try {
            return poll();
        } finally {
            memory.exit();
        }
    }

    @Override
    public long announce(FutexWords words) {
        if (expected.isExpected()) {
            ticking = true;
            return TICK_NS;
        }
        if (!calls.isAny() || !memory.enter()) {
            return Long.MAX_VALUE;
        }
        inMemory = true; // so nobody unmaps the words
        boolean pending = false;
        for (long bits = calls.underWay(); bits != 0; bits &= bits - 1) {
            int slot = Long.numberOfTrailingZeros(bits);
            // The call may end while this thread sleeps, or have ended, and the slot have one of a waiting thread. So
            // the server wakes
            // all that sleep on a word.
            int announced = ChannelCaller.announce(memory.word(slot), generations[slot]);
            if (announced == 0 || memory.isEnded()) {
                return 0;
            }
            pending |= SlotWord.state(announced) == SlotWord.PENDING;
            words.add(memory.word(slot), announced);
        }
        if (pending) {
            bell.ringAgain();
        }
        return ChannelMemory.SLEEP_NS_MAX;
    }

    @Override
    public void awoke() {
        ticking = false;
        if (inMemory) {
            inMemory = false;
            memory.exit();
        }
    }

    @Override
    public PollingHelp.Wait newWait(BooleanSupplier over) {
        return new PollingWait(over);
    }

    private final class PollingWait extends ParkingWait {
        PollingWait(BooleanSupplier over) {
            super(over);
        }

        @Override
        public void await(long deadlineNs) {
            if (memory.enter()) {
                try {
                    pollUntil(deadlineNs);
                } finally {
                    memory.exit();
                }
            }
            if (isWaiting()) {
                expected.none();
                waits.look();
                park(deadlineNs);
            } else if (expected.leave(System.nanoTime())) {
                tick();
            } else if (calls.isAny()) {
                waits.look();
            }
        }

        private void pollUntil(long deadlineNs) {
            int first = begin();
            int left = first;
            for (int looks = 0; isWaiting(); looks++) {
                if ((looks & (CLOCK_LOOKS - 1)) == 0) {
                    long nowNs = System.nanoTime();
                    polledNs = nowNs;
                    if (nowNs - deadlineNs >= 0) {
                        return;
                    }
                }
                if (poll() > 0) {
                    if (left != first) {
                        wait.hit(left);
                    }
                    first = left = begin();
                } else if (left == 0) {
                    return;
                } else {
                    left = wait.pause(left);
                }
            }
        }

        private int begin() {
            return wait.begin(1 + Long.bitCount(calls.underWay()) / SLOTS_PER_PAUSE);
        }
    }
}

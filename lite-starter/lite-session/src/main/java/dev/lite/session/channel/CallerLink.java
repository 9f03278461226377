package dev.lite.session.channel;

import dev.lite.os.Futex;
import dev.lite.os.FutexWords;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.StagedWait;
import dev.lite.session.async.PollingHelp;
import dev.lite.session.waiting.PolledWaits;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/** The caller's end of a link: sends requests and receives replies. A request that was sent counts as taken. */
final class CallerLink extends ChannelLink {
    private static final int LOOKERS_PAUSES_MAX = 100;
    private static final int NOBODY = -1;
    /** While it spins, the polling thread checks its deadline once in this many looks; a power of two. */
    private static final int CLOCK_CHECK_LOOKS = 64;
    /** A thread that has not polled for so long may have lost its processor. */
    private static final long FRESH_NS = 100_000;

    private final PolledWaits virtualWaits;
    /** A bit for each slot that a virtual thread waits for. */
    private final AtomicLong virtuals = new AtomicLong();

    /** By slot. */
    private final VirtualWait[] waits;
    /** By slot. */
    private final SlotWaiter[] waiters;
    /** Calls that no thread waits for. */
    private final StartedCalls started;

    private final StagedWait pollersWait;
    private final StagedWait lookersWait;

    /** The thread that polls for all; null: none. */
    private final AtomicReference<@Nullable Thread> poller = new AtomicReference<>();

    private volatile boolean asleep;
    /** A call was started for which nobody may poll. */
    private volatile boolean unarmed;

    private volatile long polledNs;
    /** Others that are awake, and take the poll role when it is free. */
    private final AtomicInteger looking = new AtomicInteger();

    private final AtomicInteger sleeping = new AtomicInteger();
    /** A bit for each slot whose thread sleeps on its word, or is about to. */
    private final AtomicLong sleepers = new AtomicLong();
    /** The slot whose thread was woken to poll and has not run yet, or {@link #NOBODY}. */
    private final AtomicInteger woken = new AtomicInteger(NOBODY);

    /**
     * Made before the connection is watched.
     *
     * @param spins the largest number of pauses before a thread sleeps
     * @param ender ends the call of a slot that no thread waits for; the reply is there, the deadline has passed or the channel has ended
     */
    CallerLink(
            ChannelMemory memory,
            LinkSocket socket,
            LinkWatch watch,
            PolledWaits virtualWaits,
            int spins,
            IntConsumer ender) {
        super(memory, socket, watch);
        this.virtualWaits = virtualWaits;
        pollersWait = new StagedWait(spins);
        lookersWait = new StagedWait(Math.min(LOOKERS_PAUSES_MAX, spins));
        waits = new VirtualWait[area.slots()];
        Arrays.setAll(waits, VirtualWait::new);
        waiters = new SlotWaiter[area.slots()];
        Arrays.setAll(waiters, SlotWaiter::new);
        started = new StartedCalls(memory, ender);
    }

    /** Sends the request of a slot, or leaves it to the thread that polls. Never blocks. */
    void submit(int slot) {
        if (Thread.currentThread().isVirtual()) {
            leave(slot); // its wait makes sure that a thread polls
            return;
        }
        note(slot);
        if (!isPolled()) {
            sendNow();
        }
    }

    private boolean isPolled() {
        Thread now = poller.get();
        return now != null && !asleep && System.nanoTime() - polledNs < FRESH_NS;
    }

    /** What a platform thread waits for. */
    private abstract static class Waiter {
        abstract boolean isWaiting();

        /** Sleeps while another thread polls; not beyond the deadline. Does not sleep if the waiter can poll and none does. */
        abstract void sleep(long deadlineNs);

        /** Sleeps until something comes, and receives it; returns false if the thread must not, since more than a reply ends its wait. */
        boolean sleepOnConnection(long deadlineNs) {
            return false;
        }
    }

    /** The wait for the reply in a slot. */
    private final class SlotWaiter extends Waiter {
        private final int slot;
        private final long word;
        /** Written before the wait. */
        private int generation;

        SlotWaiter(int slot) {
            this.slot = slot;
            word = memory.word(slot);
        }

        @Override
        boolean isWaiting() {
            return SlotWord.isWaiting(RawMemory.getIntAcquire(word), generation);
        }

        @Override
        void sleep(long deadlineNs) {
            sleepers.getAndUpdate(bits -> bits | 1L << slot);
            try {
                int next = woken.get(); // after that: who gives up the poll role sees the bit
                if (poller.get() == null && (next == NOBODY || next == slot)) {
                    return;
                }
                int expected = ChannelCaller.announce(word, generation);
                if (expected != 0 && !memory.isEnded()) {
                    memory.sleep(word, expected, deadlineNs);
                }
            } finally {
                sleepers.getAndUpdate(bits -> bits & ~(1L << slot));
                boolean unused = woken.compareAndSet(slot, NOBODY);
            }
        }

        @Override
        boolean sleepOnConnection(long deadlineNs) {
            asleep = true;
            try {
                sendNow(); // after that, others send
                sleepAndReceive(word, generation, Math.min(deadlineNs - System.nanoTime(), ChannelMemory.SLEEP_NS_MAX));
            } finally {
                asleep = false;
            }
            return true;
        }
    }

    /** Waits until the reply is there, the channel ends or the deadline passes. A platform thread. */
    void await(int slot, int generation, long deadlineNs) {
        SlotWaiter waiter = waiters[slot];
        waiter.generation = generation;
        await(waiter, deadlineNs);
    }

    private void await(Waiter waiter, long deadlineNs) {
        try {
            while (waiter.isWaiting()) {
                if (take() || look(waiter)) {
                    lead(waiter, deadlineNs);
                }
                if (memory.isEnded() || System.nanoTime() - deadlineNs >= 0) {
                    return;
                }
                if (waiter.isWaiting()) {
                    sleep(waiter, deadlineNs);
                }
            }
        } finally {
            handOver(); // it may be the last one that looked, or one that was woken to poll
        }
    }

    @Override
    void awoke() {
        polledNs = System.nanoTime();
        asleep = false; // those that it wakes now leave their requests to it
    }

    /** Whether a thread polls, or was woken to do so. */
    boolean isLed() {
        return poller.get() != null || woken.get() != NOBODY;
    }

    /** If threads sleep and none looks or polls, wakes one to poll. If that is not possible, the watching thread polls. */
    private void handOver() {
        if (again() != Again.NOW) {
            return;
        }
        for (long bits = sleepers.get(); bits != 0; bits &= bits - 1) {
            int slot = Long.numberOfTrailingZeros(bits);
            if (!woken.compareAndSet(NOBODY, slot)) {
                return; // another thread hands over just now
            }
            // The slot may be that of a virtual thread by now. Whose bit is seen after the wake clears the field.
            if (Futex.wake(memory.word(slot), 1) > 0 && (sleepers.get() & 1L << slot) != 0) {
                return;
            }
            boolean unused = woken.compareAndSet(slot, NOBODY); // that one does not sleep yet, or not any more
        }
        arm();
    }

    private boolean take() {
        if (poller.get() != null || !poller.compareAndSet(null, Thread.currentThread())) {
            return false;
        }
        polledNs = System.nanoTime();
        return true;
    }

    private void release() {
        poller.set(null);
        sendNow(); // what others have left
    }

    /** Polls until the reply is there. The thread has the poll role, and gives it up. It must {@link #handOver} before it blocks or leaves. */
    private void lead(Waiter waiter, long deadlineNs) {
        try {
            int first = pollersWait.begin(POLL_COST);
            int left = first;
            for (int looks = 1; waiter.isWaiting(); looks++) {
                boolean slept = false;
                polledNs = System.nanoTime();
                sendNow();
                if (poll()) {
                    if (left != first) {
                        pollersWait.hit(left);
                    }
                    left = first =
                            StagedWait.yieldsOnly(pollersWait.begin(POLL_COST)); // those whom it concerns run first
                } else if (left > 0) {
                    left = pollersWait.pause(looking.get() > 0 ? StagedWait.yieldsOnly(left) : left);
                } else if (!waiter.sleepOnConnection(deadlineNs)) {
                    return;
                } else {
                    left = first = pollersWait.begin(POLL_COST);
                    slept = true;
                }
                if ((slept || (looks & (CLOCK_CHECK_LOOKS - 1)) == 0)
                        && (memory.isEnded() || System.nanoTime() - deadlineNs >= 0)) {
                    return;
                }
            }
        } finally {
            release();
        }
    }

    /** Stays awake for a while; returns whether it took the poll role. */
    private boolean look(Waiter waiter) {
        looking.incrementAndGet();
        try {
            int first = lookersWait.begin(1);
            int left = first;
            while (waiter.isWaiting()) {
                if (take()) {
                    return true;
                }
                if (left == 0) {
                    return false;
                }
                if (hasOutgoing() && !isPolled()) { // the thread that polls may have lost its processor
                    sendNow();
                }
                left = lookersWait.pause(left);
            }
            if (left != first) {
                lookersWait.hit(left);
            }
            return false;
        } finally {
            looking.decrementAndGet();
        }
    }

    private void sleep(Waiter waiter, long deadlineNs) {
        sleeping.incrementAndGet();
        try {
            waiter.sleep(deadlineNs);
        } finally {
            sleeping.decrementAndGet();
        }
    }

    /**
     * Submits the request of a slot whose reply no thread waits for. Never blocks.
     *
     * @param soon whether the thread will probably submit another one or poll within microseconds; if not, the watching thread sends and
     *     polls a moment later
     */
    void start(int slot, long deadlineNs, boolean soon) {
        started.begin(slot, deadlineNs);
        note(slot);
        if (soon) {
            unarmed = true; // before the tick is asked for
            watch.left();
            return;
        }
        if (!isPolled()) {
            sendNow();
        }
        armForSleepers();
    }

    @Override
    void ticked() {
        if (unarmed) {
            unarmed = false;
            if (memory.enter()) {
                try {
                    armForSleepers(); // who leads or looks hands over when it ends
                } finally {
                    memory.exit();
                }
            }
        }
    }

    @Override
    void ended() {
        started.endAll();
    }

    /** A wait of this thread for calls that were started: it polls if no other thread does. */
    PollingHelp.Wait newWait(BooleanSupplier over) {
        return new StartedWait(over);
    }

    private final class StartedWait extends Waiter implements PollingHelp.Wait {
        private final BooleanSupplier over;
        private final Thread thread = Thread.currentThread();
        private volatile boolean parked;

        StartedWait(BooleanSupplier over) {
            this.over = over;
        }

        @Override
        boolean isWaiting() {
            return !over.getAsBoolean() && !thread.isInterrupted();
        }

        @Override
        void sleep(long deadlineNs) {
            handOver();
            park(deadlineNs);
        }

        private void park(long deadlineNs) {
            parked = true;
            try {
                if (isWaiting()) { // after that: who ends it sees that the thread is parked
                    LockSupport.parkNanos(this, deadlineNs - System.nanoTime());
                }
            } finally {
                parked = false;
            }
        }

        @Override
        public void await(long deadlineNs) {
            if (memory.enter()) {
                try {
                    CallerLink.this.await(this, deadlineNs);
                } finally {
                    memory.exit();
                }
            }
            if (isWaiting()
                    && deadlineNs - System.nanoTime() > 0) { // the channel has ended: other threads end the calls
                park(deadlineNs);
            }
        }

        @Override
        public void signal() {
            if (parked) {
                LockSupport.unpark(thread);
            }
        }
    }

    /** If threads sleep and none looks or polls, the watching thread does. */
    void armForSleepers() {
        if (again() == Again.NOW) {
            arm();
        }
    }

    /** Waits as {@link #await}, in a virtual thread, for which the thread of the waits polls. */
    void awaitVirtually(int slot, int generation, long deadlineNs) {
        VirtualWait wait = waits[slot];
        wait.generation = generation;
        virtuals.getAndUpdate(bits -> bits | 1L << slot);
        try {
            while (!wait.isReady() && System.nanoTime() - deadlineNs < 0) {
                virtualWaits.await(wait, deadlineNs);
                if (!wait.isReady()) { // there are so many waits that the polling thread may not know of this one
                    sendNow();
                    boolean unused = poll();
                }
            }
        } finally {
            if (virtuals.updateAndGet(bits -> bits & ~(1L << slot)) == 0) {
                endVirtualPolls(); // perhaps of this link: nobody waits for it
            }
        }
    }

    private final class VirtualWait implements PolledWaits.Wait {
        private final int slot;
        private final long word;
        /** Written before the wait. */
        private int generation;

        VirtualWait(int slot) {
            this.slot = slot;
            word = memory.word(slot);
        }

        @Override
        public PolledWaits.Polled poll() {
            if (Long.numberOfTrailingZeros(virtuals.get()) == slot) { // once for all
                pollVirtually();
                sendNow();
                boolean unused = CallerLink.this.poll();
            }
            return isReady() ? PolledWaits.Polled.OVER : PolledWaits.Polled.NOTHING;
        }

        @Override
        public boolean isReady() {
            return !SlotWord.isWaiting(RawMemory.getIntAcquire(word), generation) || memory.isEnded();
        }

        @Override
        public boolean announce(FutexWords words) {
            int expected = ChannelCaller.announce(word, generation);
            if (expected == 0 || memory.isEnded()) {
                return false;
            }
            words.add(word, expected);
            endVirtualPolls();
            arm();
            return true;
        }
    }

    @Override
    Again again() {
        boolean awaited = sleeping.get() != 0 || virtuals.get() != 0 || started.isAny();
        return awaited && looking.get() == 0 && !isLed() ? Again.NOW : Again.NEVER;
    }

    @Override
    int prepare(int slot, long header) {
        long word = memory.word(slot);
        while (true) {
            int seen = RawMemory.getIntVolatile(word);
            int state = SlotWord.state(seen);
            if (SlotWord.has(seen, SlotWord.ENDED) || (state != SlotWord.PENDING && state != SlotWord.CANCELLED)) {
                return NOTHING; // the channel has ended
            }
            if (state == SlotWord.CANCELLED) { // nobody waits for the request, and the server never sees it
                if (RawMemory.compareAndSetInt(word, seen, SlotWord.with(seen, SlotWord.DONE))) {
                    return NOTHING;
                }
            } else if (RawMemory.compareAndSetInt(word, seen, SlotWord.with(seen, SlotWord.TAKEN))) {
                int lengths = RawMemory.getInt(memory.slot(slot) + ChannelArea.REQUEST_LENGTH);
                int capacity = RawMemory.getInt(memory.slot(slot) + ChannelArea.CAPACITY);
                LinkFrame.put(header, LinkFrame.REQUEST, slot, SlotWord.generation(seen), lengths, capacity);
                return lengths & ChannelArea.LENGTH_MASK;
            }
        }
    }

    @Override
    public int check(int kind, int slot, int generation, int first, int second) {
        if (kind != LinkFrame.REPLY) {
            memory.endFor("the kind of a frame to a caller", kind, String.valueOf(LinkFrame.REPLY));
            return NOTHING;
        }
        int seen = RawMemory.getIntVolatile(memory.word(slot));
        int state = SlotWord.state(seen);
        if (SlotWord.generation(seen) != generation || (state != SlotWord.TAKEN && state != SlotWord.CANCELLED)) {
            memory.endFor(
                    "the generation of a reply in slot %d, whose word is %d,".formatted(slot, seen),
                    generation,
                    "that of a request");
            return NOTHING;
        }
        if (second < 0 || second > area.windowBytes()) {
            memory.endFor("the length of a reply in slot " + slot, second, "0 to " + area.windowBytes());
            return NOTHING;
        }
        return second;
    }

    @Override
    public void arrived(int kind, int slot, int generation, int first, int second) {
        RawMemory.putInt(memory.slot(slot) + ChannelArea.STATUS, first);
        RawMemory.putInt(memory.slot(slot) + ChannelArea.REPLY_LENGTH, second);
        // First: as soon as the word says done, the slot may be that of another call.
        boolean ends = started.claim(slot);
        long word = memory.word(slot);
        int done = SlotWord.of(generation, SlotWord.DONE);
        if (SlotWord.has(RawMemory.getAndSetInt(word, done), SlotWord.SLEEPING)) {
            int unused = Futex.wake(word, 1);
        }
        if (ends) {
            started.end(slot);
        }
    }
}

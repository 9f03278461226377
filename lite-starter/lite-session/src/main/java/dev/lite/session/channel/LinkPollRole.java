package dev.lite.session.channel;

import dev.lite.os.Futex;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.StagedWait;
import dev.lite.session.async.PollingHelp;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The poll role of a caller's link. One waiting platform thread polls for all. The others check their own condition, take the role when
 * it is free, and sleep after a while. The polling thread sleeps on the connection. When its own wait is over and others sleep, it wakes
 * one of them to poll in its place. Threads are in the memory.
 */
final class LinkPollRole {
    private static final int LOOKERS_PAUSES_MAX = 100;
    private static final int NOBODY = -1;
    /** While it spins, the polling thread checks its deadline once in this many looks; a power of two. */
    private static final int CLOCK_CHECK_LOOKS = 64;
    /** A thread that has not polled for so long may have lost its processor. */
    private static final long FRESH_NS = 100_000;

    /** An interrupt, or another thread that ends the future, does not wake a thread that sleeps on the connection. */
    private static final long STARTED_SLEEP_NS = 2_000_000;

    private final CallerLink link;
    private final ChannelMemory memory;
    /** By slot. */
    private final SlotWaiter[] waiters;

    private final StagedWait pollersWait;
    private final StagedWait lookersWait;

    /** The thread that polls for all; null: none. */
    private final AtomicReference<@Nullable Thread> poller = new AtomicReference<>();

    private volatile boolean asleep;
    private volatile long polledNs;
    /** Others that are awake, and take the poll role when it is free. */
    private final AtomicInteger looking = new AtomicInteger();

    private final AtomicInteger sleeping = new AtomicInteger();
    /** A bit for each slot whose thread sleeps on its word, or is about to. */
    private final AtomicLong sleepers = new AtomicLong();
    /** The slot whose thread was woken to poll and has not run yet, or {@link #NOBODY}. */
    private final AtomicInteger woken = new AtomicInteger(NOBODY);

    /** @param spins the largest number of pauses before a thread sleeps */
    LinkPollRole(CallerLink link, int spins) {
        this.link = link;
        memory = link.memory;
        pollersWait = new StagedWait(spins);
        lookersWait = new StagedWait(Math.min(LOOKERS_PAUSES_MAX, spins));
        waiters = new SlotWaiter[link.area.slots()];
        Arrays.setAll(waiters, SlotWaiter::new);
    }

    boolean hasSleepers() {
        return sleeping.get() != 0;
    }

    /** Whether a thread polls, will, or looks and takes the role when it is free. */
    boolean isTaken() {
        return looking.get() != 0 || isLed();
    }

    /** Whether a thread polls that is awake. It sends what others leave. */
    boolean isPolled() {
        Thread now = poller.get();
        return now != null && !asleep && System.nanoTime() - polledNs < FRESH_NS;
    }

    /** When a thread polled last, of {@link System#nanoTime}. */
    long polledNs() {
        return polledNs;
    }

    /** What a platform thread waits for. */
    private interface Waiter {
        boolean isWaiting();

        /** Sleeps while another thread polls; not beyond the deadline. Does not sleep if the waiter can poll and none does. */
        void sleep(long deadlineNs);

        /** Whether the thread, when its wait is over, will probably start calls or wait again within microseconds. */
        default boolean isSoonBack() {
            return false;
        }

        /**
         * Sleeps until something comes, and receives it; not beyond the deadline. Returns false if the thread must not poll any more,
         * but {@link #sleep}.
         */
        boolean sleepOnConnection(long deadlineNs);
    }

    /** The wait for the reply in a slot. */
    private final class SlotWaiter implements Waiter {
        private final int slot;
        private final long word;
        /** Written before the wait. */
        private int generation;

        SlotWaiter(int slot) {
            this.slot = slot;
            word = memory.word(slot);
        }

        @Override
        public boolean isWaiting() {
            return SlotWord.isWaiting(RawMemory.getIntAcquire(word), generation);
        }

        @Override
        public void sleep(long deadlineNs) {
            sleepers.getAndUpdate(bits -> bits | 1L << slot);
            try {
                int next = woken.get(); // after the bit was set: a thread that gives up the role sees it
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
        public boolean sleepOnConnection(long deadlineNs) {
            boolean unused = sleepAndReceive(this, deadlineNs, ChannelMemory.SLEEP_NS_MAX);
            return true;
        }
    }

    private boolean sleepAndReceive(Waiter waiter, long deadlineNs, long sleepNsMax) {
        asleep = true;
        try {
            link.sendNow(); // after that, others send
            return link.sleepAndReceive(waiter::isWaiting, Math.min(deadlineNs - System.nanoTime(), sleepNsMax));
        } finally {
            asleep = false;
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
            handOver(); // this thread may be the last one awake, or one that was woken to poll
        }
    }

    /** The thread that slept on the connection receives now. */
    void awoke() {
        polledNs = System.nanoTime();
        asleep = false; // those that it wakes now leave their requests to it
    }

    /** Whether a thread polls, or was woken to do so. */
    boolean isLed() {
        return poller.get() != null || woken.get() != NOBODY;
    }

    /** If threads sleep and none is awake or polls, wakes one to poll. If that is not possible, the watching thread polls. */
    private void handOver() {
        if (link.again() != ChannelLink.Again.NOW) {
            return;
        }
        for (long bits = sleepers.get(); bits != 0; bits &= bits - 1) {
            int slot = Long.numberOfTrailingZeros(bits);
            if (!woken.compareAndSet(NOBODY, slot)) {
                return; // another thread is handing over
            }
            // The slot may be that of a virtual thread by now. A thread whose bit is still set clears the field.
            if (Futex.wake(memory.word(slot), 1) > 0 && (sleepers.get() & 1L << slot) != 0) {
                return;
            }
            boolean unused = woken.compareAndSet(slot, NOBODY); // that one does not sleep yet, or not any more
        }
        link.arm();
    }

    private boolean take() {
        if (poller.get() != null || !poller.compareAndSet(null, Thread.currentThread())) {
            return false;
        }
        polledNs = System.nanoTime();
        return true;
    }

    private void release(Waiter waiter) {
        try {
            if (waiter.isSoonBack()) {
                link.expectPolls();
            }
        } finally { // also if that fails: else nobody would poll any more
            poller.set(null);
            link.sendNow(); // what others have left
        }
    }

    /** Polls until the reply is there. The thread has the poll role, and gives it up. It must {@link #handOver} before it blocks or leaves. */
    private void lead(Waiter waiter, long deadlineNs) {
        try {
            int first = pollersWait.begin(ChannelLink.POLL_COST);
            int left = first;
            for (int looks = 1; waiter.isWaiting(); looks++) {
                boolean slept = false;
                polledNs = System.nanoTime();
                link.sendNow();
                if (link.poll()) {
                    if (left != first) {
                        pollersWait.hit(left);
                    }
                    left = first = StagedWait.yieldsOnly(
                            pollersWait.begin(ChannelLink.POLL_COST)); // the threads that it concerns run first
                } else if (left > 0) {
                    left = pollersWait.pause(looking.get() > 0 ? StagedWait.yieldsOnly(left) : left);
                } else if (!waiter.sleepOnConnection(deadlineNs)) {
                    return;
                } else {
                    left = first = pollersWait.begin(ChannelLink.POLL_COST);
                    slept = true;
                }
                if ((slept || (looks & (CLOCK_CHECK_LOOKS - 1)) == 0)
                        && (memory.isEnded() || System.nanoTime() - deadlineNs >= 0)) {
                    return;
                }
            }
        } finally {
            release(waiter);
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
                if (link.hasOutgoing() && !isPolled()) { // the thread that polls may have lost its processor
                    link.sendNow();
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

    /** A wait of this thread for calls that were started: it polls if no other thread does. */
    PollingHelp.Wait newWait(BooleanSupplier over) {
        return new StartedWait(over);
    }

    private final class StartedWait extends ParkingWait implements Waiter {
        StartedWait(BooleanSupplier over) {
            super(over);
        }

        @Override
        public boolean isSoonBack() {
            return !isWaiting();
        }

        @Override
        public void sleep(long deadlineNs) {
            handOver();
            park(deadlineNs);
        }

        @Override
        public boolean sleepOnConnection(long deadlineNs) {
            return sleepAndReceive(this, deadlineNs, STARTED_SLEEP_NS);
        }

        @Override
        public void await(long deadlineNs) {
            if (memory.enter()) {
                try {
                    LinkPollRole.this.await(this, deadlineNs);
                } finally {
                    memory.exit();
                }
            }
            if (isWaiting()
                    && deadlineNs - System.nanoTime() > 0) { // the channel has ended: other threads end the calls
                park(deadlineNs);
            }
        }
    }
}

package dev.lite.client;

import dev.lite.client.DataPath.Outcome;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.RepeatingThread;
import dev.lite.os.waiting.StagedWait;
import dev.lite.session.protocol.CompletionBell;
import dev.lite.session.protocol.Doorbell;
import dev.lite.session.protocol.SessionArea;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The commands that no thread of the application waits for. One platform thread ("lite-async") watches the slots of all of them and
 * ends each command when it is done, late or lost. It starts with the first command, pauses and yields before it blocks, and then the
 * node wakes it once, however many commands are done. Any thread.
 *
 * <p>A thread of the application that waits for one of the commands {@linkplain #help helps}: it watches in place of that thread, which
 * sleeps meanwhile.
 *
 * <p>Exactly one thread ends a command: the one that clears its bit in {@link #watched}. That thread then owns the slot.
 */
final class WatchedCommands {
    private static final Logger LOG = LoggerFactory.getLogger(WatchedCommands.class);

    /** A sleep ends after this time, so that a command whose deadline is later need not wake the thread. */
    private static final long SLEEP_NS = TimeUnit.SECONDS.toNanos(1);

    /** The same after a sleep without any command. */
    private static final long IDLE_SLEEP_NS = TimeUnit.SECONDS.toNanos(60);

    private static final long CLOSE_POLL_NS = 100_000;

    /** What follows a command. */
    interface Ending {
        /**
         * The command has ended. The thread owns the slot and must return it. Must not block or throw.
         *
         * @param outcome {@link Outcome#DONE} also if the node completed it with an error
         * @param helping whether this is a thread of the application that helps; see {@link #help}
         */
        void ended(int slot, Outcome outcome, boolean helping);
    }

    private final long base;
    private final Doorbell doorbell;
    private final CompletionBell bell;
    private final Consumer<Thread> starter;
    private final StagedWait wait;
    private final StagedWait helpersWait;
    /** A bit for each slot whose command is under way. */
    private final AtomicLong watched = new AtomicLong();

    // Written before the slot's bit is set; read by the thread that clears it.
    private final AtomicReferenceArray<@Nullable Ending> endings = new AtomicReferenceArray<>(SessionArea.SLOTS_MAX);
    private final long[] deadlinesNs = new long[SessionArea.SLOTS_MAX];

    /** Threads in {@link #submit} and {@link #help}: they access the memory, though they may own no slot. */
    private final AtomicInteger inside = new AtomicInteger();

    /** Threads in {@link #help}. While there is one, the watching thread sleeps. */
    private final AtomicInteger helpers = new AtomicInteger();

    /** The watching thread sleeps at most until then, and so notices deadlines after that without a wake-up. */
    private volatile long sleepsUntilNs = System.nanoTime();

    /** All commands end, now and later. */
    private volatile boolean lost;

    /** The watching thread has ended, or ends commands for the last time. */
    private volatile boolean over;

    private volatile @Nullable Thread watcher; // written under the lock
    private boolean idle; // confined to the watching thread

    /**
     * No commands yet, and no thread.
     *
     * @param base where the session area is mapped
     * @param spins the largest number of pauses before the thread sleeps
     */
    WatchedCommands(long base, int spins) {
        this(base, spins, Thread::start);
    }

    /** For tests: the system may refuse to start the thread. */
    WatchedCommands(long base, int spins, Consumer<Thread> starter) {
        this.base = base;
        this.starter = starter;
        doorbell = new Doorbell(base);
        bell = new CompletionBell(base);
        wait = new StagedWait(spins);
        helpersWait = new StagedWait(spins);
    }

    private void ring(int slot, long deadlineNs) {
        try {
            boolean unused = doorbell.submit(slot);
            if (deadlineNs - sleepsUntilNs < 0) {
                boolean unusedToo = bell.ring();
            }
        } finally {
            if (over) { // either this thread sees that here, or the last check sees the bit
                boolean unused = tryEnd(slot, System.nanoTime(), false);
            }
        }
    }

    /**
     * Submits the command that is in a slot, in {@link SessionArea#STATE_WATCHED}. Does not block. The caller no longer owns the slot
     * when this method returns. It still owns it when this method throws, and the slot has no command then.
     *
     * @param deadlineNs of {@link System#nanoTime}
     */
    void submit(int slot, long deadlineNs, Ending ending) {
        if (watcher == null) {
            start();
        }
        inside.getAndIncrement();
        try {
            deadlinesNs[slot] = deadlineNs;
            endings.set(slot, ending);
            RawMemory.putIntRelease(
                    state(slot), SessionArea.STATE_WATCHED); // only now: without the thread, nobody would end it
            // Before the node can complete it: a thread that the node wakes, or that checks its slots, sees the bit.
            watched.getAndAdd(1L << slot);
            try {
                ring(slot, deadlineNs);
            } catch (RuntimeException | Error e) {
                // The stack of this thread overflows. The slot is not the caller's any more: the command ends like any
                // other, and at its deadline if the node does not know of it.
            }
        } finally {
            inside.getAndDecrement();
        }
    }

    private synchronized void start() {
        if (watcher == null) {
            Thread thread = RepeatingThread.unstarted("lite-async", this::watch, LOG::error);
            starter.accept(thread);
            watcher = thread;
        }
    }

    /**
     * Ends commands that are done, in place of the watching thread, until a future is done: the thread would wait for it anyway, so
     * nobody needs to be woken. Returns early when there was nothing to end for a while, at the deadline, when the thread is
     * interrupted, and at once on a virtual thread.
     */
    void help(Future<?> awaited, long deadlineNs) {
        if (watched.get() == 0 || Thread.currentThread().isVirtual()) {
            return;
        }
        inside.getAndIncrement();
        try {
            if (lost) {
                return;
            }
            helpers.getAndIncrement();
            bell.take();
            try {
                endUntil(awaited, deadlineNs);
            } finally {
                if (helpers.decrementAndGet() == 0) {
                    handBack();
                }
            }
        } finally {
            inside.getAndDecrement();
        }
    }

    private void endUntil(Future<?> awaited, long deadlineNs) {
        int left = helpersWait.begin(1);
        while (!awaited.isDone() && !lost) {
            if (endSome(true) > 0) {
                helpersWait.hit(left);
                left = helpersWait.begin(1);
            } else if (left == 0
                    || System.nanoTime() - deadlineNs >= 0
                    || Thread.currentThread().isInterrupted()) {
                return;
            } else {
                left = helpersWait.pause(left);
            }
        }
    }

    /** The last helper leaves: from now on the node wakes the watching thread, if it sleeps. */
    private void handBack() {
        bell.arm();
        int unused = endSome(true);
        for (long bits = watched.get(); bits != 0; bits &= bits - 1) {
            if (deadlinesNs[Long.numberOfTrailingZeros(bits)] - sleepsUntilNs < 0) {
                boolean unusedToo = bell.ring(); // submitted while nobody could be woken
                return;
            }
        }
    }

    /** Ends all commands, now and later. The node may still execute them. The memory must be mapped. */
    void lose() {
        lost = true;
        bell.wake();
    }

    /**
     * After {@link #lose}, and after all slots were returned: waits until no thread uses the memory.
     *
     * @return false when a thread still used it at the deadline
     */
    boolean awaitEnd(long deadlineNs) {
        return Polling.until(
                () -> inside.get() == 0 && !isWatching(),
                Deadline.in(Duration.ofNanos(Math.max(0, deadlineNs - System.nanoTime()))),
                CLOSE_POLL_NS);
    }

    private boolean isWatching() {
        Thread thread = watcher;
        return thread != null && thread.isAlive();
    }

    /** Watches until all commands have ended, then sleeps once. Returns false at the end of the session. */
    private boolean watch() {
        int first = wait.begin(1);
        int left = first;
        while (!lost) {
            if (helpers.get() > 0) {
                sleep();
            } else if (endSome(false) > 0) {
                if (left != first) {
                    wait.hit(left);
                }
                left = first = wait.begin(1);
            } else if (left == 0) { // at once on a single processor
                sleep();
                left = first = wait.begin(1);
            } else {
                left = wait.pause(left);
            }
        }
        over = true;
        int unused = endSome(false);
        return false;
    }

    /** Ends the commands that are done, late or lost. Returns how many. */
    private int endSome(boolean helping) {
        int count = 0;
        long nowNs = System.nanoTime();
        for (long bits = watched.get(); bits != 0; bits &= bits - 1) {
            if (tryEnd(Long.numberOfTrailingZeros(bits), nowNs, helping)) {
                count++;
            }
        }
        return count;
    }

    private @Nullable Outcome outcome(int slot, long nowNs) {
        if (isDone(slot)) {
            return Outcome.DONE;
        }
        if (lost) {
            return Outcome.LOST;
        }
        return deadlinesNs[slot] - nowNs <= 0 ? Outcome.TIMED_OUT : null;
    }

    private long state(int slot) {
        return base + SessionArea.slotOffset(slot) + SessionArea.STATE;
    }

    private boolean isDone(int slot) {
        return RawMemory.getIntAcquire(state(slot)) == SessionArea.STATE_DONE;
    }

    /** Ends the slot's command if it is done, late or lost, and no other thread ends it. */
    private boolean tryEnd(int slot, long nowNs, boolean helping) {
        long bit = 1L << slot;
        while (outcome(slot, nowNs) != null) {
            if ((watched.getAndUpdate(bits -> bits & ~bit) & bit) == 0) {
                return false;
            }
            // Again: since the first look, the command may have ended, and the slot may have another one. That is the
            // one taken here.
            Outcome outcome = outcome(slot, nowNs);
            if (outcome != null) {
                Ending ending = endings.getAndSet(slot, null);
                if (ending != null) {
                    ending.ended(slot, outcome, helping);
                }
                return true;
            }
            long unused = watched.getAndAdd(bit); // before the next look: nobody else saw it end meanwhile
        }
        return false;
    }

    /** Sleeps until a command is done or late. */
    private void sleep() {
        long beganNs = System.nanoTime();
        long sleepNs = idle ? IDLE_SLEEP_NS : SLEEP_NS;
        boolean helped = helpers.get() > 0;
        if (helped) {
            bell.take();
        } else {
            bell.arm();
        }
        try {
            // Before the check: a command that the check does not see reads this time.
            sleepsUntilNs = beganNs + sleepNs;
            long all = watched.get();
            for (long bits = all; bits != 0; bits &= bits - 1) {
                int slot = Long.numberOfTrailingZeros(bits);
                if (!helped && isDone(slot)) {
                    return;
                }
                sleepNs = Math.min(sleepNs, deadlinesNs[slot] - beganNs);
            }
            if (lost || helped != helpers.get() > 0) {
                return;
            }
            if (helped) {
                bell.awaitTaken(sleepNs);
            } else {
                bell.await(sleepNs);
            }
            idle = all == 0 && System.nanoTime() - beganNs >= sleepNs;
        } finally {
            bell.disarm();
        }
    }
}

package dev.lite.tier.session;

import dev.lite.api.LiteException;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.TaskStart;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.Access;
import dev.lite.tier.TierHandle;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The commands of a session that are under way without the session's thread. Any thread.
 *
 * <p><b>Posted.</b> The session's thread posts reads, writes and atomic operations to a fabric and continues with the next command;
 * the thread that polls the fabric completes their slots. Bound: {@link SessionBackend#transfersMax} for each session. Further ones are
 * deferred until one has ended, as long as the session's thread is awake.
 *
 * <p><b>Alone.</b> A command that must wait before it begins, for permits, a move, a connection or a buffer, has a virtual thread.
 * So has a deferred one before the session's thread would block, and when none has ended for many turns. So none of them delays
 * another one, and the time of each begins when it is submitted. Bound: one for each slot.
 */
final class PostedTransfers {
    private final AreaSlots slots;
    private final int most;
    private final Runnable noneLeft;
    /** Commands from before their start until after the last access to their slot and window. */
    private final AtomicInteger running = new AtomicInteger();
    /** Those of them that are posted. */
    private final AtomicInteger transfers = new AtomicInteger();
    /** A bit for each slot whose command is posted, or alone. */
    private final AtomicLong posted = new AtomicLong();
    /** A bit for each slot whose command was deferred. */
    private final AtomicLong deferred = new AtomicLong();

    /** The threads of those that are alone. */
    private final Set<Thread> alone = ConcurrentHashMap.newKeySet();

    /** Where the search for a deferred slot begins, so that each has its turn. Races are harmless. */
    private volatile int nextDeferred;

    /**
     * @param most how many may be posted at a time
     * @param noneLeft called when the last command has ended; must not block
     */
    PostedTransfers(AreaSlots slots, int most, Runnable noneLeft) {
        this.slots = slots;
        this.most = most;
        this.noneLeft = noneLeft;
    }

    /** Whether a command is under way, so that the slots' memory must stay mapped. */
    boolean isRunning() {
        return running.get() > 0;
    }

    /**
     * Starts a command that needs a fabric. The session's thread; does not block.
     *
     * @param access what the command does to the memory of the handle
     * @param mayDefer whether the command may be deferred
     * @param soon whether this thread will poll soon, so that what it posts until then may be sent together
     * @return false if it was neither posted nor deferred
     * @throws LiteException if the command is refused
     */
    boolean start(TierHandle handle, int slot, int op, Access access, long timeoutNs, boolean mayDefer, boolean soon) {
        boolean started = false;
        long bit = 1L << slot;
        boolean room = transfers.getAndIncrement() < most;
        if (!room && mayDefer) {
            transfers.decrementAndGet();
            long unused = deferred.getAndUpdate(bits -> bits | bit);
            return true;
        }
        begin(slot);
        try {
            started =
                    room && handle.tryStart(access, timeoutNs, soon, failure -> transferred(slot, op, access, failure));
            return started;
        } finally {
            if (!started) {
                transfers.decrementAndGet();
                unposted(slot);
                left();
            }
        }
    }

    private void transferred(int slot, int op, Access access, @Nullable RuntimeException failure) {
        transfers.decrementAndGet();
        boolean former = access.operation().isAtomic();
        ended(slot, op, former ? RawMemory.getLong(access.local().address()) : 0, failure);
    }

    /**
     * Executes a command on a thread of its own, and completes its slot. The session's thread; does not block.
     *
     * @param command returns the result for the slot
     */
    void startAlone(int slot, int op, LongSupplier command) {
        boolean started = false;
        begin(slot);
        try {
            TaskStart.on(this::startAlone, () -> {
                long result = 0;
                Throwable failure = null;
                try {
                    result = command.getAsLong();
                } catch (RuntimeException | Error e) { // nobody else ends it
                    Unrecoverable.report(e);
                    failure = e;
                }
                alone.remove(Thread.currentThread());
                ended(slot, op, result, failure);
            });
            started = true;
        } finally {
            if (!started) {
                unposted(slot);
                left();
            }
        }
    }

    private void startAlone(Runnable task) {
        Thread thread = Thread.ofVirtual().name("lite-session-alone").unstarted(() -> {
            try {
                task.run();
            } finally {
                alone.remove(Thread.currentThread());
            }
        });
        alone.add(thread);
        boolean started = false;
        try {
            thread.start();
            started = true;
        } finally {
            if (!started && thread.getState() == Thread.State.NEW) { // else it runs, and removes itself
                alone.remove(thread);
            }
        }
    }

    private void begin(int slot) {
        running.incrementAndGet();
        long unused = posted.getAndUpdate(bits -> bits | 1L << slot);
    }

    /** The session has ended: nobody needs the commands any more that wait alone. */
    void interruptAlone() {
        alone.forEach(Thread::interrupt);
    }

    /** Whether the slot's last command is posted, alone or deferred. LITE's client submits no other one meanwhile. */
    boolean isUnderWay(int slot) {
        return ((posted.get() | deferred.get()) & 1L << slot) != 0;
    }

    private void unposted(int slot) {
        // Needs no memory, at the end of a command.
        long unused = posted.getAndAccumulate(1L << slot, PostedTransfers::without);
    }

    private static long without(long bits, long bit) {
        return bits & ~bit;
    }

    /** Whether commands are deferred. */
    boolean hasDeferred() {
        return deferred.get() != 0;
    }

    /** Whether a transfer can start. */
    boolean hasRoom() {
        return transfers.get() < most;
    }

    /** Takes a deferred slot, which the caller must serve now; -1: none. */
    int takeDeferred() {
        long bits;
        while ((bits = deferred.get()) != 0) {
            int first = nextDeferred;
            int slot = (Long.numberOfTrailingZeros(Long.rotateRight(bits, first)) + first) % Long.SIZE;
            if (deferred.compareAndSet(bits, bits & ~(1L << slot))) {
                nextDeferred = (slot + 1) % Long.SIZE;
                return slot;
            }
        }
        return -1;
    }

    /** Ends a command. Without memory for its error, the application gets one without a message. */
    private void ended(int slot, int op, long result, @Nullable Throwable failure) {
        unposted(slot); // before the completion, after which the client may use the slot again
        try {
            if (failure == null) {
                slots.complete(slot, 0, result);
            } else {
                slots.fail(slot, op, failure);
            }
        } catch (OutOfMemoryError e) { // the slot is not complete: that needs no memory
            Unrecoverable.report(e);
            slots.complete(slot, LiteException.Code.RPC_FAILED.number(), 0);
        } finally {
            left(); // else the session would keep its memory for ever
        }
    }

    private void left() {
        if (running.decrementAndGet() == 0) {
            noneLeft.run();
        }
    }
}

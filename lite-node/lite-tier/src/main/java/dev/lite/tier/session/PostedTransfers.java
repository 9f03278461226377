package dev.lite.tier.session;

import dev.lite.api.LiteException;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.tier.TierHandle;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The reads and writes of a session that are under way through a fabric. The session's thread posts them and continues with the
 * next command; the thread that polls the fabric completes their slots. Any thread.
 *
 * <p>Bound: {@link SessionBackend#transfersMax} for each session. Further ones are deferred until one has ended,
 * as long as the session's thread is awake. It executes them itself before it would block, and when none has ended for many turns. So
 * transfers with a node that does not answer delay no others for long.
 */
final class PostedTransfers {
    private final AreaSlots slots;
    private final int most;
    private final Runnable noneLeft;
    /** Transfers from before their post until after the last access to their slot and window. */
    private final AtomicInteger running = new AtomicInteger();
    /** A bit for each slot whose command is posted. */
    private final AtomicLong posted = new AtomicLong();
    /** A bit for each slot whose command was deferred. */
    private final AtomicLong deferred = new AtomicLong();

    /** The threads of operations that may have to wait for permits. */
    private final Set<Thread> limited = ConcurrentHashMap.newKeySet();

    /** Where the search for a deferred slot begins, so that each has its turn. Races are harmless. */
    private volatile int nextDeferred;

    /**
     * @param most how many may be under way at a time
     * @param noneLeft called when the last transfer has ended; must not block
     */
    PostedTransfers(AreaSlots slots, int most, Runnable noneLeft) {
        this.slots = slots;
        this.most = most;
        this.noneLeft = noneLeft;
    }

    /** Whether a transfer is under way, so that the slots' memory must stay mapped. */
    boolean isRunning() {
        return running.get() > 0;
    }

    /**
     * Starts a command. The session's thread; does not block.
     *
     * @param op {@link Op#READ} or {@link Op#WRITE}; others are not started
     * @param length bytes of the slot's window
     * @param mayDefer whether the command may be deferred
     * @param soon whether this thread will poll soon, so that what it posts until then may be sent together
     * @return false if the caller must execute it; otherwise it was posted or deferred
     * @throws LiteException if the command is refused
     */
    boolean start(
            TierHandle handle,
            int slot,
            int op,
            long offset,
            long length,
            long timeoutNs,
            boolean mayDefer,
            boolean soon) {
        if (op != Op.READ && op != Op.WRITE) {
            return false;
        }
        if (handle.mustWait()) {
            startLimited(handle, slot, op, offset, length, timeoutNs);
            return true;
        }
        if (!handle.needsFabric()) {
            return false;
        }
        boolean started = false;
        long bit = 1L << slot;
        int others = running.getAndIncrement();
        if (others >= most && mayDefer) {
            long unused = deferred.getAndUpdate(bits -> bits | bit);
            left();
            return true;
        }
        long unused = posted.getAndUpdate(bits -> bits | bit);
        try {
            started = others < most
                    && handle.tryTransfer(
                            op == Op.WRITE,
                            offset,
                            RawMemory.all().asSlice(slots.window(slot), length),
                            timeoutNs,
                            soon,
                            failure -> ended(slot, op, failure));
            return started;
        } finally {
            if (!started) {
                unposted(slot);
                left();
            }
        }
    }

    /** Executes a command that may have to wait for permits, on a virtual thread: it delays no other. At most one for each slot. */
    private void startLimited(TierHandle handle, int slot, int op, long offset, long length, long timeoutNs) {
        running.incrementAndGet();
        long bit = 1L << slot;
        long unusedToo = posted.getAndUpdate(bits -> bits | bit);
        Thread thread = Thread.ofVirtual().name("lite-session-limited").unstarted(() -> {
            RuntimeException failure = null;
            try {
                if (op == Op.READ) {
                    handle.read(offset, slots.window(slot), length, timeoutNs);
                } else {
                    handle.write(offset, slots.window(slot), length, timeoutNs);
                }
            } catch (RuntimeException e) {
                failure = e;
            } catch (Error e) { // nobody else ends it
                Unrecoverable.report(e);
                failure = new IllegalStateException(e);
            }
            limited.remove(Thread.currentThread());
            ended(slot, op, failure);
        });
        limited.add(thread);
        thread.start();
    }

    /** The session has ended: nobody needs the operations any more that wait for permits. */
    void interruptLimited() {
        limited.forEach(Thread::interrupt);
    }

    /** Whether the slot's last command is posted or deferred. LITE's client submits no other one meanwhile. */
    boolean isUnderWay(int slot) {
        return ((posted.get() | deferred.get()) & 1L << slot) != 0;
    }

    private void unposted(int slot) {
        long unused = posted.getAndUpdate(bits -> bits & ~(1L << slot));
    }

    /** Whether commands are deferred. */
    boolean hasDeferred() {
        return deferred.get() != 0;
    }

    /** Whether a transfer can start. */
    boolean hasRoom() {
        return running.get() < most;
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

    private void ended(int slot, int op, @Nullable RuntimeException failure) {
        unposted(slot); // before the completion, after which the client may use the slot again
        if (failure == null) {
            slots.complete(slot, 0, 0);
        } else {
            slots.fail(slot, op, failure);
        }
        left();
    }

    private void left() {
        if (running.decrementAndGet() == 0) {
            noneLeft.run();
        }
    }
}

package dev.lite.tier.session;

import dev.lite.api.LiteException;
import dev.lite.os.RawMemory;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.tier.TierHandle;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The reads and writes of a session that are under way through a fabric. The session's thread posts them and continues with the
 * next command; the thread that polls the fabric completes their slots. Any thread.
 *
 * <p>Bound: {@value #TRANSFERS_MAX} for each session, half of the node's bounce buffers. The session's thread executes further ones
 * itself.
 */
final class PostedTransfers {
    static final int TRANSFERS_MAX = 16;

    private final AreaSlots slots;
    private final Runnable noneLeft;
    /** Transfers from before their post until after the last access to their slot and window. */
    private final AtomicInteger running = new AtomicInteger();

    /** @param noneLeft called when the last transfer has ended; must not block */
    PostedTransfers(AreaSlots slots, Runnable noneLeft) {
        this.slots = slots;
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
     * @return false if the caller must execute it
     * @throws LiteException if the command is refused
     */
    boolean start(TierHandle handle, int slot, int op, long offset, long length, long timeoutNs) {
        if ((op != Op.READ && op != Op.WRITE) || !handle.needsFabric()) {
            return false;
        }
        boolean started = false;
        int others = running.getAndIncrement();
        try {
            started = others < TRANSFERS_MAX
                    && handle.tryTransfer(
                            op == Op.WRITE,
                            offset,
                            RawMemory.all().asSlice(slots.window(slot), length),
                            timeoutNs,
                            failure -> ended(slot, op, failure));
            return started;
        } finally {
            if (!started) {
                left();
            }
        }
    }

    private void ended(int slot, int op, @Nullable RuntimeException failure) {
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

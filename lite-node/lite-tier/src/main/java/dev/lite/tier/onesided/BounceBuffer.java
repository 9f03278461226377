package dev.lite.tier.onesided;

import dev.lite.tier.peer.PollWaiter;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A bounce buffer and the post that uses it. */
final class BounceBuffer extends PollWaiter {
    static final int OWNED = 0; // by the operation that took it
    static final int POSTED = 1;
    static final int DONE = 2;
    static final int FAILED = 3;
    static final int ABANDONED = 4; // posted, and nobody waits
    static final int FREE = 5;

    final int index;
    final long address;
    final AtomicInteger state = new AtomicInteger(FREE);
    private volatile long context;

    /** What it is posted for when nobody waits. */
    volatile @Nullable PendingTransfer pending;

    BounceBuffer(int index, long address) {
        this.index = index;
        this.address = address;
        this.context = index;
    }

    /** In the context of its post; its own alone, modulo {@link PostedMemory#BUFFERS} its index. */
    long context() {
        return context;
    }

    /** A new owner and a new context, so that a completion can only ever be its own; whether it was free. */
    boolean takeIfFree() {
        if (state.get() != FREE || !state.compareAndSet(FREE, OWNED)) {
            return false;
        }
        long former = context;
        context = former + PostedMemory.BUFFERS;
        return true;
    }

    @Override
    protected boolean isOver() {
        return state.get() != POSTED;
    }

    /** Whether its post is under way for a caller that gave up at its deadline. */
    boolean isGivenUp() {
        PendingTransfer now = pending;
        return state.get() == ABANDONED || (now != null && now.isClaimed());
    }

    /** Its post ended; returns whether nobody waits for it. */
    boolean end(int outcome) {
        return !state.compareAndSet(POSTED, outcome) && state.get() == ABANDONED;
    }
}

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
    static final int ABANDONED = 4; // posted, but its caller gave up
    static final int FREE = 5;

    final int index;
    final long address;
    final AtomicInteger state = new AtomicInteger(FREE);
    private volatile long context;

    /** How many buffers behind this one belong to it, and are released with it. Written by its owner. */
    int followers;

    /** The access without a waiting thread that posted it, if any. */
    volatile @Nullable PendingAccess pending;

    BounceBuffer(int index, long address) {
        this.index = index;
        this.address = address;
        this.context = index;
    }

    /** Its part of the context of its post; unique; modulo {@link PostedMemory#BUFFERS_MAX} it is the buffer's index. */
    long context() {
        return context;
    }

    /** Takes the buffer if it is free, with a new context: so only completions of its own posts match. */
    boolean takeIfFree() {
        if (state.get() != FREE || !state.compareAndSet(FREE, OWNED)) {
            return false;
        }
        long former = context;
        context = former + PostedMemory.BUFFERS_MAX;
        return true;
    }

    boolean isFree() {
        return state.get() == FREE;
    }

    @Override
    protected boolean isOver() {
        return state.get() != POSTED;
    }

    /** Whether its post is in flight, but its caller gave up at the deadline. */
    boolean isGivenUp() {
        PendingAccess now = pending;
        return state.get() == ABANDONED || (now != null && now.isClaimed());
    }

    /** Ends its post; returns whether its caller gave up. */
    boolean end(int outcome) {
        return !state.compareAndSet(POSTED, outcome) && state.get() == ABANDONED;
    }
}

package dev.lite.tier.rpc;

import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PollWaiter;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * A piece of the arena for one call at the caller's node: where its reply arrives, and where its request is put together. A
 * reply that goes out is put together in one, too. The thread that took it from {@link RpcSlots} owns it until it gives it back, or
 * until it is somebody else's by its state.
 */
final class RpcSlot extends PollWaiter {
    static final int FREE = 0;
    /** By the thread that took it. */
    static final int OWNED = 1;
    /** A call is under way; the thread waits. */
    static final int WAITING = 2;
    /** The reply is there; the owner's. */
    static final int REPLIED = 3;
    /** The connection was lost; the owner's. */
    static final int LOST = 4;
    /** The owner gave up: quarantined until the late reply, or the end of the connection. */
    static final int ABANDONED = 5;
    /** A reply that the driver is sending, or a request that nobody waits for: free when the post ends. */
    static final int SENDING = 6;

    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(RpcSlot.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    final int index;
    final int sizeClass;
    /** Longest request and reply in bytes. */
    final int capacity;
    /** Where the reply arrives: its address here, and its offset in the arena. */
    final long replyAddress;

    final long replyOffset;
    /** Where a message is put together: {@link RpcSlots#OUT_HEADER_BYTES} and then the capacity. */
    final long outAddress;

    final long outOffset;
    /** What a call of the own node puts into the function's queue. */
    final RpcEntry entry;

    int nextFree; // RpcSlots' own
    long callId; // the owner's; it changes only when no reply can be under way
    String principal = ""; // of a call of the own node
    int replyCapacity; // likewise
    int requestLength; // likewise
    String function = ""; // likewise
    volatile @Nullable Peer peer; // null: the own node
    private volatile int state = FREE;

    RpcSlot(int index, int sizeClass, int capacity, long address, long offset) {
        this.index = index;
        this.sizeClass = sizeClass;
        this.capacity = capacity;
        replyAddress = address;
        replyOffset = offset;
        int out = RpcSlots.outPlace(capacity);
        outAddress = address + out;
        outOffset = offset + out;
        entry = new RpcEntry(null, this, 0);
    }

    int state() {
        return state;
    }

    void state(int next) {
        state = next;
    }

    boolean change(int from, int to) {
        return STATE.compareAndSet(this, from, to);
    }

    @Override
    protected boolean isOver() {
        return state != WAITING;
    }
}

package dev.lite.tier.rpc;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PollWaiter;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * Arena memory for one call on the caller's node: the call's request is assembled here, and its reply arrives here. A
 * server also assembles an outgoing reply in a slot. The thread that took a slot from {@link RpcSlots} owns it until it
 * returns it, or until the slot's state passes the ownership on.
 */
final class RpcSlot extends PollWaiter {
    static final int FREE = 0;
    /** Owned by the thread that took it. */
    static final int OWNED = 1;
    /** A call is in flight; the owner waits. */
    static final int WAITING = 2;
    /** The reply arrived; the owner reads it. */
    static final int REPLIED = 3;
    /** The connection was lost; the owner returns the slot. */
    static final int LOST = 4;
    /** The owner timed out: quarantined until the late reply, the call is cancelled, or the connection ends. */
    static final int ABANDONED = 5;
    /** The driver sends a reply, or a request that no thread waits for. Becomes free when the post completes. */
    static final int SENDING = 6;
    /** Holds a reply that is too long for its caller's slot, until the caller has read it or the connection ends. */
    static final int OFFERED = 7;

    /**
     * A call is in flight, and no thread waits for it. The thread that takes {@link #posted} under this slot's lock ends
     * the call, so that a slot that has another call by now is never taken for it.
     */
    static final int POSTED = 8;

    /** The bits of {@link #state} that have the state; those above count how often the slot was taken. */
    private static final int STATES = 0xf;

    private static final VarHandle STATE;
    private static final VarHandle SERVING;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(RpcSlot.class, "state", int.class);
            SERVING = MethodHandles.lookup().findVarHandle(RpcSlot.class, "serving", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    final int index;
    final int sizeClass;
    /** Longest request and reply in bytes. */
    final int capacity;
    /** Address at which the reply arrives; {@code replyOffset} is its arena offset. */
    final long replyAddress;

    final long replyOffset;
    /** Address at which a message is assembled: {@link RpcSlots#OUT_HEADER_BYTES}, then the capacity. */
    final long outAddress;

    final long outOffset;
    /** Whether the call has low priority; written by the owner before it posts. */
    boolean low;

    /** The queue entry of a call that this node makes to itself. */
    final RpcEntry entry;

    int nextFree; // used only by its share
    /** To which it belongs; null: to none. Written under the slots' lock. */
    @Nullable
    RpcSlotShare share;

    long callId; // set by the owner, only while no reply can be in flight
    String principal = ""; // of a call to this node itself
    int replyCapacity; // of the current call, bytes
    int requestLength; // of the current call with its context, bytes
    int contextLength; // of the current call, bytes; 0: it has no context
    String function = ""; // of a call to this node itself
    long deadlineNs; // of the current call
    int ring; // of the current call to another node
    int place; // of the current call in that ring, bytes
    /** The current call to this node itself, once it was received. Racy: {@link RpcCancels} reads it again. */
    @Nullable
    ReceivedCall received;

    byte @Nullable [] longReply; // to a call to this node itself, if it is longer than the slot
    volatile @Nullable Peer peer; // null: this node itself
    /** The state, and how often the slot was taken: so that a state is never taken for that of a former call. */
    private volatile int state = FREE;

    /** Whether a thread that serves a call of this node itself uses the slot's memory; see {@link RpcSlots#beginServing}. */
    private volatile boolean serving;

    /** The call in state POSTED. */
    @GuardedBy("this")
    private @Nullable PostedCall posted;

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

    /** Returns the slot to its share. Nobody may write to it any more, and the caller must have claimed its state. */
    void giveBack() {
        RpcSlotShare its = share;
        if (its == null) {
            throw new IllegalStateException("slot %d belongs to no share".formatted(index));
        }
        its.giveBack(this);
    }

    int state() {
        return state & STATES;
    }

    /** Only by the owner. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // nobody else changes the upper bits
    void state(int next) {
        state = (state & ~STATES) | next;
    }

    /** A thread has taken the slot off its share, and owns it. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // a free slot is changed by nobody else
    void own() {
        state = (state & ~STATES) + STATES + 1 | OWNED;
    }

    boolean change(int from, int to) {
        int seen = state;
        return (seen & STATES) == from && STATE.compareAndSet(this, seen, (seen & ~STATES) | to);
    }

    /** Changes the state of a slot for a node, null: this one, unless it has another call by now. Any thread. */
    boolean changeOf(@Nullable Peer node, int from, int to) {
        int seen = state; // before the peer, which stays the same from one own() to the next
        return peer == node && (seen & STATES) == from && STATE.compareAndSet(this, seen, (seen & ~STATES) | to);
    }

    /** Changes the state of a slot for a call, unless it has another call by now. Any thread. */
    boolean changeOf(long call, int from, int to) {
        int seen = state; // before the id, which changes only between an own() and the next state
        return callId == call && (seen & STATES) == from && STATE.compareAndSet(this, seen, (seen & ~STATES) | to);
    }

    /** The call to a node, null: this one, if its caller has stopped waiting; null if there is no such call. Any thread. */
    RpcCancels.@Nullable Abandoned abandoned(@Nullable Peer node) {
        int seen = state;
        if ((seen & STATES) != ABANDONED || peer != node) {
            return null;
        }
        RpcCancels.Abandoned call = new RpcCancels.Abandoned(this, node, ring, place, callId);
        // The fields are plain: without the fence they may be read after the second read of the state.
        // The owner of the next call writes them after the first read, and own() changes the state.
        VarHandle.acquireFence();
        return state == seen ? call : null;
    }

    /** By {@link RpcSlots#beginServing}. */
    void beginServing() {
        serving = true;
    }

    /** The thread does not use the slot's memory any more. */
    void endServing() {
        SERVING.setRelease(this, false);
    }

    boolean isServing() {
        return serving;
    }

    /** Lets other threads end a call whose owner does not wait for it. The owner has filled in the rest of the slot. */
    synchronized void posted(PostedCall call) {
        posted = call;
        state(POSTED);
    }

    synchronized boolean isPosted(PostedCall call) {
        return posted == call;
    }

    /** Takes the posted call with this id; this thread owns the slot then and ends the call. Null: there is none. */
    synchronized @Nullable PostedCall takePosted(long id) {
        return takePosted(callId == id);
    }

    /** Takes a posted call to a node, as {@link #takePosted(long)} does. */
    synchronized @Nullable PostedCall takePostedTo(@Nullable Peer node) {
        return takePosted(peer == node);
    }

    @GuardedBy("this")
    private @Nullable PostedCall takePosted(boolean wanted) {
        PostedCall call = wanted ? posted : null;
        if (call != null) {
            posted = null;
            state(OWNED);
        }
        return call;
    }

    /** Takes this call out of the slot, if it is still there. */
    synchronized boolean endPosted(PostedCall call, int next) {
        if (posted != call) {
            return false;
        }
        posted = null;
        state(next);
        return true;
    }

    @Override
    protected boolean isShort() {
        return true;
    }

    @Override
    protected boolean isOver() {
        return state() != WAITING;
    }
}

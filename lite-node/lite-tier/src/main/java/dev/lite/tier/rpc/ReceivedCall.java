package dev.lite.tier.rpc;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.RpcCall;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.tier.peer.PollRole;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/** A call that a server took from its queue. Its request is a copy, so the ring does not wait for the answer. */
public final class ReceivedCall implements RpcCall {
    private static final VarHandle ANSWERED;

    static {
        try {
            ANSWERED = MethodHandles.lookup().findVarHandle(ReceivedCall.class, "answered", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final RpcReplies replies;
    /** The ring from which it came; null: this node itself. */
    final @Nullable RpcRing ring;

    private final String callerNode;
    private final String callerPrincipal;
    private final byte[] request;
    /** The caller's slot; {@code replyTo} is the reply's offset in its arena. */
    final int slot;
    /** The longest reply for which the slot has room, in bytes; the caller may take a longer one. */
    final int room;

    final long replyTo;
    final long callId;
    private final int capacity;

    @SuppressWarnings("UnusedVariable") // accessed through the VarHandle
    private volatile boolean answered;

    ReceivedCall(
            RpcReplies replies,
            @Nullable RpcRing ring,
            String callerNode,
            String callerPrincipal,
            byte[] request,
            int slot,
            int room,
            long replyTo,
            long callId,
            int capacity) {
        this.replies = replies;
        this.ring = ring;
        this.room = room;
        this.callerNode = callerNode;
        this.callerPrincipal = callerPrincipal;
        this.request = request;
        this.slot = slot;
        this.replyTo = replyTo;
        this.callId = callId;
        this.capacity = capacity;
    }

    @Override
    public String callerNode() {
        return callerNode;
    }

    @Override
    public String callerPrincipal() {
        return callerPrincipal;
    }

    @Override
    public MemorySegment request() {
        return MemorySegment.ofArray(request).asReadOnly();
    }

    /** The request without a copy; for the tier only. */
    public byte[] requestBytes() {
        return request;
    }

    /** Whether the call was answered. */
    boolean isAnswered() {
        return answered;
    }

    @Override
    public void reply(MemorySegment reply) {
        boolean held = replyAndTake(reply, null);
        assert !held;
    }

    /**
     * Takes the poll role, then replies. So the caller's next call, which may come at once, wakes no other thread.
     *
     * @return whether this thread now holds the role
     */
    boolean replyAndTake(MemorySegment reply, @Nullable PollRole role) {
        long length = reply.byteSize();
        if (length > capacity) {
            throw new LimitExceededException(
                    "the reply has %d bytes; the caller takes at most %d".formatted(length, capacity));
        }
        answer();
        return replies.reply(this, 0, reply, role);
    }

    @Override
    public void fail(String message) {
        answer();
        // The caller's slot has room for at least 1 KiB, even if the caller's own limit is lower.
        byte[] text = SessionProtocol.cut(message, 1 << 10);
        boolean held = replies.reply(this, LiteException.Code.RPC_FAILED.number(), MemorySegment.ofArray(text), null);
        assert !held;
    }

    private void answer() {
        if (!ANSWERED.compareAndSet(this, false, true)) {
            throw new IllegalStateException("a call of %s was already answered".formatted(callerNode));
        }
    }
}

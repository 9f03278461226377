package dev.lite.tier.rpc;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcStatus;
import dev.lite.os.Segments;
import dev.lite.session.wire.WireError;
import dev.lite.tier.peer.PollRole;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A call that a server took from its queue. Its request is a copy, so the ring does not wait for the answer. */
public final class ReceivedCall implements RpcCall {
    private static final int OPEN = 0;
    private static final int ANSWERED = 1;
    /** Its caller has stopped waiting and uses its slot again: the answer must not be sent. */
    private static final int CANCELLED = 2;

    private static final byte[] NONE = {};
    private static final int RPC_FAILED = LiteException.Code.RPC_FAILED.number();
    /** The caller's slot has room for so many bytes, even if the caller's own limit is lower. */
    private static final int ERROR_BYTES_MAX = RpcCall.FAIL_BYTES_MAX + WireError.PREFIX_BYTES;

    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(ReceivedCall.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final RpcReplies replies;
    /** The ring from which it came; null: this node itself. */
    final @Nullable RpcRing ring;

    private final String callerNode;
    private final String callerPrincipal;
    private volatile byte[] message;
    private final int contextBytes;
    /** The caller's slot; {@code replyTo} is the reply's offset in its arena. */
    final int slot;
    /** The longest reply for which the slot has room, in bytes; the caller may take a longer one. */
    final int room;

    final long replyTo;
    final long callId;
    private final int capacity;
    /** Where the request lies in its caller's arena, if it is not in {@link #message} yet; else 0. */
    final long remoteRequest;

    @SuppressWarnings("UnusedVariable") // accessed through the VarHandle
    private volatile int state = OPEN;

    ReceivedCall(
            RpcReplies replies,
            @Nullable RpcRing ring,
            String callerNode,
            String callerPrincipal,
            byte[] message,
            int contextBytes,
            int slot,
            int room,
            long replyTo,
            long callId,
            int capacity,
            long remoteRequest) {
        this.replies = replies;
        this.ring = ring;
        this.room = room;
        this.callerNode = callerNode;
        this.callerPrincipal = callerPrincipal;
        this.message = message;
        this.contextBytes = contextBytes;
        this.slot = slot;
        this.replyTo = replyTo;
        this.callId = callId;
        this.capacity = capacity;
        this.remoteRequest = remoteRequest;
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
        return MemorySegment.ofArray(message).asSlice(contextBytes).asReadOnly();
    }

    @Override
    public @Nullable String context() {
        return contextBytes == 0 ? null : new String(message, 0, contextBytes, StandardCharsets.UTF_8);
    }

    /** Whether its context and request are here and have at most so many bytes. */
    boolean isHere(long bytesMax) {
        return remoteRequest == 0 && message.length <= bytesMax;
    }

    /** The longest reply that the caller takes, in bytes. */
    public int replyBytesMax() {
        return capacity;
    }

    /** The context and the request without a copy; for the tier only. */
    public byte[] message() {
        return message;
    }

    /** The request was copied to its server; an unanswered call then takes little memory. */
    public void dropMessage() {
        message = NONE;
    }

    /** How many bytes of {@link #message} are the context. */
    public int contextBytes() {
        return contextBytes;
    }

    /** Whether the call was answered. */
    boolean isAnswered() {
        return state == ANSWERED;
    }

    @Override
    public void reply(MemorySegment reply) {
        Segments.requireReadable("reply", reply);
        boolean held = replyAndTake(reply, null);
        assert !held;
    }

    /**
     * Takes the poll role, then replies. So the caller's next call, which may come at once, wakes no other thread.
     *
     * @return whether this thread now holds the role
     */
    boolean replyAndTake(MemorySegment reply, @Nullable PollRole role) {
        requireFits(reply.byteSize());
        return answer(0, reply, role, false);
    }

    /** Replies; the reply may be sent together with this thread's next one. Returns false: this thread has no role. */
    boolean replySoon(MemorySegment reply) {
        requireFits(reply.byteSize());
        return answer(0, reply, null, true);
    }

    @Override
    public void fail(int handlerCode, String message) {
        Objects.requireNonNull(message, "message");
        fail(RpcStatus.HANDLER_FAILED, handlerCode, message);
    }

    @Override
    public void decline(String message) {
        Objects.requireNonNull(message, "message");
        fail(RpcStatus.NOT_SERVED, 0, message);
    }

    /** {@link #fail(int, String)} with a status. */
    public void fail(RpcStatus status, int handlerCode, String message) {
        boolean held = answer(RPC_FAILED, error(status, handlerCode, message), null, false);
        assert !held;
    }

    private static MemorySegment error(RpcStatus status, int handlerCode, String message) {
        return MemorySegment.ofArray(WireError.bytes(status, handlerCode, message, ERROR_BYTES_MAX));
    }

    /**
     * Replies without waiting. Never blocks; otherwise like {@link #reply}.
     *
     * @param soon whether this thread will soon send another reply, or poll, so that both may be sent together
     * @return false if the reply would have to wait; the call is still unanswered then
     */
    public boolean tryReply(MemorySegment reply, boolean soon) {
        requireFits(reply.byteSize());
        return tryAnswer(0, reply, soon);
    }

    /** {@link #fail} without waiting; false: the call is still unanswered. */
    public boolean tryFail(RpcStatus status, int handlerCode, String message) {
        return tryAnswer(RPC_FAILED, error(status, handlerCode, message), false);
    }

    private boolean tryAnswer(int status, MemorySegment reply, boolean soon) {
        if (!begin()) {
            return true;
        }
        boolean sent = false;
        try {
            sent = replies.tryReply(this, status, reply, soon);
            return sent;
        } finally {
            if (!sent) {
                reopen();
            }
        }
    }

    private void requireFits(long length) {
        if (length > capacity) {
            throw new LimitExceededException(
                    "the reply has %d bytes; the caller takes at most %d".formatted(length, capacity));
        }
    }

    /** Marks the call as answered. Returns false if it was cancelled: its answer is dropped. */
    private boolean begin() {
        if (!STATE.compareAndSet(this, OPEN, ANSWERED)) {
            if (!STATE.compareAndSet(this, CANCELLED, ANSWERED)) {
                throw new IllegalStateException("a call of %s was already answered".formatted(callerNode));
            }
            return false;
        }
        forget(); // before the reply: after it, the caller's next call may use the slot
        return true;
    }

    /**
     * Sends an answer, or drops it if the call was cancelled.
     *
     * @param more whether this thread will soon send another one
     * @return whether this thread now holds the role
     */
    private boolean answer(int status, MemorySegment reply, @Nullable PollRole role, boolean more) {
        if (!begin()) {
            return false;
        }
        boolean sent = false;
        try {
            boolean held = replies.reply(this, status, reply, role, more);
            sent = true;
            return held;
        } finally {
            if (!sent) {
                reopen();
            }
        }
    }

    /** Nothing was sent: the call can still be answered or cancelled. */
    void reopen() {
        if (ring != null) {
            ring.received.setRelease(slot, this); // before another thread may answer it, which forgets it
        }
        state = OPEN;
    }

    boolean isCancelled() {
        return state == CANCELLED;
    }

    /** Makes sure that no answer is sent. Returns false if it is another call, or was answered or cancelled. */
    boolean cancel(long itsCallId) {
        if (callId != itsCallId || !STATE.compareAndSet(this, OPEN, CANCELLED)) {
            return false;
        }
        forget();
        return true;
    }

    private void forget() {
        if (ring != null) {
            ring.received.setRelease(slot, null);
        }
    }
}

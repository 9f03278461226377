package dev.lite.tier.rpc;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Durations;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.Turns;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.wire.WireError;
import dev.lite.session.wire.WireText;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PollRole;
import dev.lite.tier.peer.Poster;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes calls. The calling thread does every step itself: it takes a slot for the request and the reply, reserves room
 * in the ring, posts and waits. A successful call allocates nothing. Any thread.
 */
final class RpcCaller {
    private static final Logger log = LoggerFactory.getLogger(RpcCaller.class);
    private static final long PAUSE_NS = 20_000;
    private static final long ENLARGE_TIMEOUT_NS = 5_000_000_000L;
    /**
     * A deadline whose clock was not read yet. If the clock returns this value, the deadline becomes slightly later.
     */
    private static final long NOT_STARTED = 0;

    private final RpcEngine engine;
    private final RpcReplies replies;
    private final RpcBindings bindings;

    RpcCaller(RpcEngine engine, RpcReplies replies, RpcBindings bindings) {
        this.engine = engine;
        this.replies = replies;
        this.bindings = bindings;
    }

    /**
     * Calls and waits for the reply.
     *
     * @param request begins with the context
     * @param contextBytes 0: there is no context
     * @param reply receives the reply, from its start
     * @return the length of the reply
     */
    int call(FunctionClient target, MemorySegment request, int contextBytes, MemorySegment reply, Duration deadline) {
        int capacity = (int) Math.min(reply.byteSize(), LtRpc.MESSAGE_BYTES_MAX);
        RpcSlot slot = callToSlot(target, request, contextBytes, capacity, deadline);
        try {
            int length = checkedLength(target, slot);
            target.replied(slot, length);
            replies.copy(slot, reply, length);
            return length;
        } finally {
            slot.giveBack();
        }
    }

    /** Calls and waits for the reply. */
    byte[] call(FunctionClient target, MemorySegment request, int contextBytes, Duration deadline) {
        RpcSlot slot = callToSlot(target, request, contextBytes, LtRpc.MESSAGE_BYTES_MAX, deadline);
        try {
            byte[] reply = new byte[checkedLength(target, slot)];
            target.replied(slot, reply.length);
            replies.copy(slot, MemorySegment.ofArray(reply), reply.length);
            return reply;
        } finally {
            slot.giveBack();
        }
    }

    private static byte[] bytes(RpcSlot slot, int length) {
        byte[] bytes = new byte[length];
        MemorySegment.copy(
                RawMemory.all(),
                ValueLayout.JAVA_BYTE,
                slot.replyAddress + RpcWire.REPLY_HEADER_BYTES,
                bytes,
                0,
                length);
        return bytes;
    }

    /** The length of the reply in a slot; throws if the reply is an error. */
    private static int checkedLength(FunctionClient target, RpcSlot slot) {
        int status = RawMemory.getInt(slot.replyAddress + RpcWire.REPLY_STATUS);
        int length = RawMemory.getInt(slot.replyAddress + RpcWire.REPLY_LENGTH);
        boolean elsewhere = status == RpcWire.REPLY_ELSEWHERE;
        boolean isReply = elsewhere || status == 0;
        if (length < 0 || (!elsewhere && length > slot.capacity) || (isReply && length > slot.replyCapacity)) {
            throw new RpcFailedException(
                    RpcStatus.UNKNOWN,
                    "%s: the reply claims to have %d bytes; the limit is %d"
                            .formatted(target, length, slot.replyCapacity));
        }
        if (!isReply) {
            throw WireError.exception(status, bytes(slot, length), target + ": ");
        }
        return length;
    }

    /**
     * Prepares a call as far as is possible without sending a request: finds the connection and the binding. What it throws
     * shows that the function was not called.
     */
    void bind(FunctionClient target, long deadlineNs) {
        int node = target.nodeId();
        if (!engine.isSelf(node)) {
            Peer peer = engine.peer(node, deadlineNs);
            if (target.knownBinding(peer) == null) {
                RpcBinding unused = target.binding(bindings, peer, deadlineNs);
            }
        }
    }

    /** Returns the slot with the reply in it. The caller owns the slot. */
    private RpcSlot callToSlot(
            FunctionClient target, MemorySegment request, int contextBytes, int capacity, Duration deadline) {
        long length = request.byteSize();
        if (length > LtRpc.MESSAGE_BYTES_MAX) {
            WireText.checkRequest(
                    target + ": the request", length - contextBytes, contextBytes, LtRpc.MESSAGE_BYTES_MAX);
        }
        long timeoutNs = FunctionClient.toNanos(deadline);
        long deadlineNs = NOT_STARTED;
        int node = target.nodeId();
        if (engine.isSelf(node)) {
            RpcFunction function = engine.ownFunction(target.function());
            deadlineNs = started(deadlineNs, timeoutNs);
            RpcSlot slot = engine.ownCalls(function, target.principal()).take((int) length, deadlineNs);
            prepare(target, slot, capacity, (int) length, contextBytes);
            callSelf(target, function, slot, request, deadline, deadlineNs);
            return slot;
        }
        Peer peer = engine.connected(node);
        if (peer == null) {
            deadlineNs = started(deadlineNs, timeoutNs);
            peer = engine.peer(node, deadlineNs);
        }
        Turns turns = peer.pollRole().turns();
        if (turns != null && turns.areOn()) {
            deadlineNs = started(deadlineNs, timeoutNs);
            turns.begin(deadlineNs); // before the call holds anything
        }
        RpcBinding binding = target.knownBinding(peer);
        if (binding == null) {
            deadlineNs = started(deadlineNs, timeoutNs);
            binding = target.binding(bindings, peer, deadlineNs);
        }
        RpcSlot slot = tryTake(binding, (int) length, capacity);
        if (slot == null) {
            deadlineNs = started(deadlineNs, timeoutNs);
            slot = binding.slots.take((int) length, deadlineNs);
        }
        prepare(target, slot, capacity, (int) length, contextBytes);
        callPeer(target, binding, slot, request, deadline, deadlineNs);
        return slot;
    }

    /**
     * A slot with room for the request and for the reply that is to be expected; or only for the request, if there is no
     * such slot now: a longer reply is then read from the server's node.
     */
    private static @Nullable RpcSlot tryTake(RpcBinding binding, int length, int capacity) {
        int expected = Math.min(capacity, binding.expectedReplyBytes());
        if (expected > length) {
            RpcSlot slot = binding.slots.tryTake(expected);
            if (slot != null) {
                return slot;
            }
        }
        return binding.slots.tryTake(length);
    }

    private static void prepare(FunctionClient target, RpcSlot slot, int capacity, int length, int contextBytes) {
        slot.callId++;
        slot.low = target.isLow();
        slot.longReply = null;
        slot.received = null;
        slot.replyCapacity = capacity;
        slot.requestLength = length;
        slot.contextLength = contextBytes;
    }

    /**
     * The call's deadline. The clock is first read when the call has to wait. Usually the request is in flight by then,
     * so the read adds no latency.
     */
    private static long started(long deadlineNs, long timeoutNs) {
        return deadlineNs != NOT_STARTED ? deadlineNs : System.nanoTime() + timeoutNs;
    }

    private void callSelf(
            FunctionClient target,
            RpcFunction function,
            RpcSlot slot,
            MemorySegment request,
            Duration deadline,
            long deadlineNs) {
        putRequest(slot, request, false);
        slot.principal = target.principal();
        slot.function = target.function();
        slot.state(RpcSlot.WAITING);
        function.arrived(slot.entry);
        boolean over = slot.awaitAlone(deadlineNs, engine.waitAlone());
        finish(target, slot, over, deadline);
    }

    /**
     * Posts a call that no thread waits for, if it needs no waiting: its binding is known, and a slot and room in the ring
     * are free. Never blocks.
     *
     * @return false: nothing has happened
     */
    boolean tryPost(
            FunctionClient target,
            MemorySegment request,
            int contextBytes,
            int capacity,
            long timeoutNs,
            PostedCall call) {
        int length = (int) request.byteSize();
        int node = target.knownNodeId();
        if (node < 0 || length > LtRpc.MESSAGE_BYTES_MAX) {
            return false;
        }
        int room = Math.min(capacity, LtRpc.MESSAGE_BYTES_MAX);
        if (engine.isSelf(node)) {
            RpcFunction function = engine.ownFunction(target.function());
            RpcSlot slot = engine.ownCalls(function, target.principal()).tryTake(length);
            if (slot == null) {
                return false;
            }
            prepare(target, slot, room, length, contextBytes);
            putRequest(slot, request, false);
            slot.principal = target.principal();
            slot.function = target.function();
            call.begin(this, target, slot);
            slot.posted(call);
            function.arrived(slot.entry);
            return true;
        }
        Peer peer = engine.connected(node);
        RpcBinding binding = peer == null ? null : target.knownBinding(peer);
        if (binding == null) {
            return false;
        }
        RpcSlot slot = tryTake(binding, length, room);
        if (slot == null) {
            return false;
        }
        prepare(target, slot, room, length, contextBytes);
        return tryPostToPeer(target, binding, slot, request, System.nanoTime() + timeoutNs, call);
    }

    /** The poll role that brings the replies of a target's calls; null: none, or the target is not known yet. */
    @Nullable
    PollRole roleOf(FunctionClient target) {
        int node = target.knownNodeId();
        Peer peer = node < 0 || engine.isSelf(node) ? null : engine.connected(node);
        return peer == null ? null : peer.pollRole();
    }

    private boolean tryPostToPeer(
            FunctionClient target,
            RpcBinding binding,
            RpcSlot slot,
            MemorySegment request,
            long deadlineNs,
            PostedCall call) {
        boolean remote = staysHere(target, binding, slot.requestLength);
        putRequest(slot, request, remote);
        int bytes = RpcWire.entryBytes(slot.requestLength, remote);
        long start = binding.tryReserve(bytes);
        if (start < 0) {
            crowded(target, binding);
            slot.giveBack();
            return false;
        }
        int padding = binding.padding(start, bytes);
        int place = binding.place(start + padding);
        putHeader(slot, remote, padding / RpcWire.UNIT_BYTES);
        slot.peer = binding.peer;
        slot.deadlineNs = deadlineNs;
        slot.ring = binding.ring;
        slot.place = place;
        int length = remote ? RpcWire.REMOTE_BYTES : RpcWire.CALL_HEADER_BYTES + slot.requestLength;
        long callId = slot.callId;
        call.begin(this, target, slot);
        slot.posted(call);
        Post post;
        try {
            boolean soon = call.isSoon() && binding.peer.pollRole().wasMine();
            post = post(binding, slot, place, length, Poster.NOBODY, soon);
        } catch (RuntimeException | Error e) { // nobody else ends the call
            Unrecoverable.report(e);
            if (!slot.endPosted(call, RpcSlot.OWNED)) {
                cancelAbandoned(binding, slot, place, length, callId);
                return true;
            }
            try {
                cancel(binding, slot, place, length);
            } finally {
                call.failed(exception("the call could not be posted", e));
            }
            return true;
        }
        // From here on another thread may have ended the call, and the slot may have another one.
        if (post == Post.BUSY) {
            call.later(() -> postLater(binding, slot, place, length, callId, call));
        } else if (post == Post.CLOSED && slot.endPosted(call, RpcSlot.OWNED)) {
            call.lost(slot);
        }
        return true;
    }

    /** Posts a call whose connection was busy. If the call is given up meanwhile, its entry is sent as cancelled. */
    private void postLater(RpcBinding binding, RpcSlot slot, int place, int length, long callId, PostedCall call) {
        while (slot.isPosted(call)) {
            Post post = post(binding, slot, place, length, Poster.NOBODY);
            if (post == Post.CLOSED && slot.endPosted(call, RpcSlot.OWNED)) {
                call.lost(slot);
            }
            if (post != Post.BUSY) {
                return;
            }
            Polling.sleepNs(PAUSE_NS);
        }
        cancelAbandoned(binding, slot, place, length, callId);
    }

    /** The call was given up before it was posted, so no reply comes: only this thread or the end of the connection returns the slot. */
    private void cancelAbandoned(RpcBinding binding, RpcSlot slot, int place, int length, long callId) {
        if (slot.callId == callId && slot.peer == binding.peer && slot.change(RpcSlot.ABANDONED, RpcSlot.OWNED)) {
            cancel(binding, slot, place, length);
        }
    }

    /** The reply of a posted call is in its slot, which this thread owns. Never blocks. */
    void deliver(PostedCall call, FunctionClient target, RpcSlot slot) {
        if (RpcReplies.isElsewhere(slot)) {
            call.later(() -> deliverNow(call, target, slot));
        } else {
            deliverNow(call, target, slot);
        }
    }

    private void deliverNow(PostedCall call, FunctionClient target, RpcSlot slot) {
        call.measured();
        int length;
        try {
            length = checkedLength(target, slot);
            target.replied(slot, length);
            replies.copy(slot, call.destination(length), length);
        } catch (RuntimeException | Error e) { // also a defect: nobody else ends the call
            Unrecoverable.report(e);
            slot.giveBack();
            call.failed(exception("the reply could not be taken", e));
            return;
        }
        slot.giveBack();
        call.replied(length);
    }

    /** What a call or receive that no thread waits for ends with. */
    static RuntimeException exception(String what, Throwable failure) {
        return failure instanceof RuntimeException known
                ? known
                : new RpcFailedException(RpcStatus.UNKNOWN, 0, "%s: %s".formatted(what, failure), failure);
    }

    /** The connection of a posted call was lost. This thread owns the slot. */
    void lost(PostedCall call, FunctionClient target, RpcSlot slot) {
        Peer peer = slot.peer;
        slot.giveBack();
        call.failed(broke(target, peer));
    }

    /** A posted call was given up: its slot is in quarantine. */
    void abandoned(FunctionClient target) {
        engine.abandoned(target.nodeId());
    }

    /** @param peer null: the call was to this node itself, which stops */
    private LiteException broke(FunctionClient target, @Nullable Peer peer) {
        return peer == null
                ? new SessionLostException("%s: the node stops, and the call has no reply".formatted(target))
                : new NodeUnreachableException("%s: the connection broke: %s"
                        .formatted(target, engine.unreachable(peer.id()).getMessage()));
    }

    private void callPeer(
            FunctionClient target,
            RpcBinding binding,
            RpcSlot slot,
            MemorySegment request,
            Duration deadline,
            long startedNs) {
        Peer peer = binding.peer;
        boolean remote = staysHere(target, binding, slot.requestLength);
        putRequest(slot, request, remote);
        int bytes = RpcWire.entryBytes(slot.requestLength, remote);
        long timeoutNs = FunctionClient.toNanos(deadline);
        long deadlineNs = startedNs;
        long start = binding.tryReserve(bytes);
        if (start < 0) {
            crowded(target, binding);
            deadlineNs = started(deadlineNs, timeoutNs);
            start = reserve(target, binding, slot, bytes, deadline, deadlineNs);
        }
        int padding = binding.padding(start, bytes);
        int place = binding.place(start + padding);
        putHeader(slot, remote, padding / RpcWire.UNIT_BYTES);
        slot.peer = peer;
        slot.state(RpcSlot.WAITING);
        PollRole role = peer.pollRole();
        boolean held = role.take();
        int length = remote ? RpcWire.REMOTE_BYTES : RpcWire.CALL_HEADER_BYTES + slot.requestLength;
        Post post;
        try {
            post = post(binding, slot, place, length, Poster.NOBODY);
        } catch (RuntimeException | Error e) { // for example a ring that does not lie in the peer's arena
            if (held) {
                role.release();
            }
            cancel(binding, slot, place, length);
            throw e;
        }
        deadlineNs = started(deadlineNs, timeoutNs);
        slot.deadlineNs = deadlineNs;
        slot.ring = binding.ring;
        slot.place = place;
        if (post == Post.BUSY) {
            if (held) {
                role.release();
                held = false;
            }
            post = postUntilAccepted(binding, slot, place, length, deadlineNs);
        }
        if (post == Post.BUSY) {
            cancel(binding, slot, place, length);
            throw timeout(target, deadline, "the connection was busy");
        }
        // Closed: whichever changes the state first, this thread or the disconnect callback, decides about the slot.
        if (post == Post.CLOSED && slot.change(RpcSlot.WAITING, RpcSlot.LOST)) {
            if (held) {
                role.release();
            }
            finish(target, slot, true, deadline);
            return;
        }
        boolean over = role.await(slot, deadlineNs, held);
        finish(target, slot, over, deadline);
    }

    /**
     * Waits for room in the ring. One waiting thread polls the head, because the server writes it without a
     * notification. The other threads queue for that thread's lock in FIFO order.
     */
    private long reserve(
            FunctionClient target, RpcBinding binding, RpcSlot slot, int bytes, Duration deadline, long deadlineNs) {
        boolean mine = false;
        try {
            mine = binding.room.tryLock(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
            while (true) {
                long start = mine ? binding.tryReserve(bytes) : -1;
                if (start >= 0) {
                    return start;
                }
                if (!target.isCurrent(binding)) {
                    throw noRoom(target, slot, "the node was lost");
                }
                if (!mine || deadlineNs - System.nanoTime() <= 0) {
                    slot.giveBack();
                    throw timeout(target, deadline, "its server is behind, and the ring is full");
                }
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                Polling.sleepNs(PAUSE_NS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw noRoom(target, slot, "interrupted");
        } finally {
            if (mine) {
                binding.room.unlock();
            }
        }
    }

    private NodeUnreachableException noRoom(FunctionClient target, RpcSlot slot, String why) {
        slot.giveBack();
        return new NodeUnreachableException(
                "%s: %s while waiting for room in the ring of its function".formatted(target, why));
    }

    /** Whether the request stays in the caller's slot, and the server reads it from there. */
    private boolean staysHere(FunctionClient target, RpcBinding binding, int length) {
        if (length <= RpcWire.SHORT_BYTES_MAX) {
            return false;
        }
        if (length > RpcWire.INLINE_BYTES_MAX) {
            return true;
        }
        if (binding.hasMuchRoom(RpcWire.entryBytes(length, false))) {
            return false;
        }
        crowded(target, binding);
        return true;
    }

    /** The ring was fairly full for a call. If that happens often, asks for a larger one, on another thread. */
    private void crowded(FunctionClient target, RpcBinding binding) {
        if (!binding.isCrowded()) {
            return;
        }
        engine.execute(() -> {
            try {
                bindings.enlarge(
                        binding, target.function(), target.principal(), System.nanoTime() + ENLARGE_TIMEOUT_NS);
            } catch (RpcFailedException e) {
                log.debug("{} keeps its ring", target, e);
            } catch (LiteException e) {
                log.debug("{} keeps its ring for now", target, e);
                binding.askAgainLater();
            }
        });
    }

    /**
     * Copies the request into its slot. Before room in the ring is reserved, which must not fail any more: the memory of the
     * request may have been closed while the call waited. Then this returns the slot.
     */
    private static void putRequest(RpcSlot slot, MemorySegment request, boolean remote) {
        int place = remote ? RpcSlots.OUT_HEADER_BYTES : RpcWire.REQUEST;
        try {
            RawMemory.copyFrom(request, 0, slot.outAddress + place, slot.requestLength);
        } catch (RuntimeException | Error e) {
            slot.giveBack();
            throw e;
        }
    }

    private static void putHeader(RpcSlot slot, boolean remote, int paddingUnits) {
        long out = slot.outAddress;
        int sizeClass = slot.sizeClass << RpcWire.SIZE_CLASS_SHIFT;
        RawMemory.putInt(out + RpcWire.LENGTH, slot.requestLength);
        RawMemory.putInt(
                out + RpcWire.PADDING_AND_FLAGS,
                paddingUnits
                        | sizeClass
                        | slot.contextLength << RpcWire.CONTEXT_SHIFT
                        | (slot.low ? RpcWire.FLAG_LOW : 0)
                        | (remote ? RpcWire.FLAG_REMOTE : 0));
        RawMemory.putLong(out + RpcWire.CALL_ID, slot.callId);
        RawMemory.putInt(out + RpcWire.SLOT, slot.index);
        RawMemory.putInt(out + RpcWire.CAPACITY, slot.replyCapacity);
        RawMemory.putLong(out + RpcWire.REPLY_TO, slot.replyOffset);
        if (remote) {
            RawMemory.putLong(out + RpcWire.REQUEST, slot.outOffset + RpcSlots.OUT_HEADER_BYTES);
        }
    }

    private static Post post(RpcBinding binding, RpcSlot slot, int place, int length, long context) {
        return post(binding, slot, place, length, context, false);
    }

    /** @param soon whether this thread will soon post another call, or poll */
    private static Post post(RpcBinding binding, RpcSlot slot, int place, int length, long context, boolean soon) {
        FabricEndpoint endpoint = binding.peer.endpoint();
        long to = binding.ringOffset + place;
        int immediate = RpcWire.callImmediate(binding.ring, place);
        return soon
                ? endpoint.writeImmSoon(to, slot.outAddress, length, immediate, context)
                : endpoint.writeImm(to, slot.outAddress, length, immediate, context);
    }

    private static Post postUntilAccepted(RpcBinding binding, RpcSlot slot, int place, int length, long deadlineNs) {
        while (true) {
            Post post = post(binding, slot, place, length, Poster.NOBODY);
            if (post != Post.BUSY || deadlineNs - System.nanoTime() <= 0) {
                return post;
            }
            Polling.sleepNs(PAUSE_NS);
        }
    }

    /**
     * Sends the reserved entry as cancelled, so that the server frees its room. Otherwise the ring would have a hole. Then the slot is
     * free, also if that fails.
     */
    private void cancel(RpcBinding binding, RpcSlot slot, int place, int length) {
        long word = slot.outAddress + RpcWire.PADDING_AND_FLAGS;
        RawMemory.putInt(word, RawMemory.getInt(word) | RpcWire.FLAG_CANCELLED);
        slot.state(RpcSlot.SENDING);
        boolean starts = engine.tryExecute(() -> {
            Post post = Post.CLOSED;
            try {
                while ((post = post(binding, slot, place, length, Poster.CALL_SLOT.context(slot.index))) == Post.BUSY) {
                    Polling.sleepNs(PAUSE_NS); // until the post is accepted or the connection ends
                }
            } catch (IndexOutOfBoundsException e) {
                log.error(
                        "node {} gave a ring that is not in its arena",
                        binding.peer.hello().node(),
                        e);
            } finally {
                if (post != Post.ACCEPTED) {
                    slot.giveBack();
                }
            }
        });
        if (!starts) { // the node stops, and its connections end
            slot.giveBack();
        }
    }

    /** Returns if the reply is in the slot. Otherwise releases or abandons the slot and throws. */
    private void finish(FunctionClient target, RpcSlot slot, boolean over, Duration deadline) {
        if (!over && slot.change(RpcSlot.WAITING, RpcSlot.ABANDONED)) {
            engine.abandoned(target.nodeId());
            if (Thread.currentThread().isInterrupted()) {
                throw new NodeUnreachableException("%s: interrupted".formatted(target));
            }
            throw noReply(target, deadline);
        }
        if (slot.state() == RpcSlot.LOST) {
            Peer peer = slot.peer;
            slot.giveBack();
            throw broke(target, peer);
        }
    }

    /** The failure of a call without a reply at its deadline. */
    static LiteTimeoutException noReply(FunctionClient target, Duration deadline) {
        return timeout(target, deadline, "no reply");
    }

    private static LiteTimeoutException timeout(FunctionClient target, Duration deadline, @Nullable String why) {
        return new LiteTimeoutException(
                "%s: not done within its deadline of %s: %s".formatted(target, Durations.text(deadline), why));
    }
}

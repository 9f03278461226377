package dev.lite.tier.rpc;

import dev.lite.api.LtRpc;
import dev.lite.api.NodeUnreachableException;
import dev.lite.fabric.Post;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.Turns;
import dev.lite.session.wire.WireText;
import dev.lite.tier.peer.BusyPause;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PollRole;
import dev.lite.tier.peer.Poster;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;

/**
 * Makes calls that a thread waits for. That thread does every step itself: it takes a slot for the request and the reply, reserves
 * room in the ring, posts and waits. A successful call allocates nothing. Any thread.
 */
final class RpcCaller {
    /**
     * A deadline whose clock was not read yet. If the clock returns this value, the deadline becomes slightly later.
     */
    private static final long NOT_STARTED = 0;
    /** Between two looks whether a full ring has room. */
    private static final long ROOM_PAUSE_NS = 20_000;

    private final RpcEngine engine;
    private final RpcReplies replies;
    private final RpcBindings bindings;
    private final RpcRequests requests;

    /** Makes room for replies; another one in tests. */
    IntFunction<byte[]> memory = byte[]::new;

    RpcCaller(RpcEngine engine, RpcReplies replies, RpcBindings bindings, RpcRequests requests) {
        this.engine = engine;
        this.replies = replies;
        this.bindings = bindings;
        this.requests = requests;
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
            int length = RpcRequests.checkedLength(target, slot);
            target.replied(slot, length);
            replies.copy(slot, reply, length);
            return length;
        } finally {
            replies.end(slot);
        }
    }

    /** Calls and waits for the reply. */
    byte[] call(FunctionClient target, MemorySegment request, int contextBytes, Duration deadline) {
        RpcSlot slot = callToSlot(target, request, contextBytes, LtRpc.MESSAGE_BYTES_MAX, deadline);
        try {
            byte[] reply = memory.apply(RpcRequests.checkedLength(target, slot));
            target.replied(slot, reply.length);
            replies.copy(slot, MemorySegment.ofArray(reply), reply.length);
            return reply;
        } finally {
            replies.end(slot);
        }
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
            RpcRequests.prepare(target, slot, capacity, (int) length, contextBytes);
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
        RpcSlot slot = RpcRequests.tryTake(binding, (int) length, capacity);
        if (slot == null) {
            deadlineNs = started(deadlineNs, timeoutNs);
            slot = binding.slots.take((int) length, deadlineNs);
        }
        RpcRequests.prepare(target, slot, capacity, (int) length, contextBytes);
        callPeer(target, binding, slot, request, deadline, deadlineNs);
        return slot;
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
        RpcRequests.putRequest(slot, request, false);
        slot.principal = target.principal();
        slot.function = target.function();
        slot.state(RpcSlot.WAITING);
        boolean taken;
        try {
            taken = function.arrived(slot.entry);
        } catch (RuntimeException | Error e) {
            if (slot.change(RpcSlot.WAITING, RpcSlot.ABANDONED)) { // the function has the call, and may answer it
                engine.abandoned(target.nodeId());
            } else {
                slot.giveBack();
            }
            throw e;
        }
        if (!taken) {
            slot.giveBack();
            throw engine.notServed(function.name);
        }
        boolean over = slot.awaitAlone(deadlineNs, engine.waitAlone());
        finish(target, slot, over, deadline);
    }

    private void callPeer(
            FunctionClient target,
            RpcBinding binding,
            RpcSlot slot,
            MemorySegment request,
            Duration deadline,
            long startedNs) {
        Peer peer = binding.peer;
        boolean remote = requests.staysHere(target, binding, slot.requestLength);
        RpcRequests.putRequest(slot, request, remote);
        int bytes = RpcWire.entryBytes(slot.requestLength, remote);
        long timeoutNs = FunctionClient.toNanos(deadline);
        long deadlineNs = startedNs;
        long start = binding.tryReserve(bytes);
        if (start < 0) {
            requests.crowded(target, binding);
            deadlineNs = started(deadlineNs, timeoutNs);
            start = reserve(target, binding, slot, bytes, deadline, deadlineNs);
        }
        int padding = binding.padding(start, bytes);
        int place = binding.place(start + padding);
        RpcRequests.putHeader(slot, remote, padding / RpcWire.UNIT_BYTES);
        slot.peer = peer;
        slot.state(RpcSlot.WAITING);
        PollRole role = peer.pollRole();
        boolean held = role.take();
        int length = remote ? RpcWire.REMOTE_BYTES : RpcWire.CALL_HEADER_BYTES + slot.requestLength;
        Post post;
        try {
            post = RpcRequests.post(binding, slot, place, length, Poster.NOBODY);
        } catch (RuntimeException | Error e) { // for example a ring that does not lie in the peer's arena
            if (held) {
                role.release();
            }
            requests.cancel(binding, slot, place, length);
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
            try {
                post = postUntilAccepted(binding, slot, place, length, deadlineNs);
            } catch (RuntimeException | Error e) {
                requests.cancel(binding, slot, place, length);
                throw e;
            }
        }
        if (post == Post.BUSY) {
            requests.cancel(binding, slot, place, length);
            if (Thread.currentThread().isInterrupted()) {
                throw new NodeUnreachableException("%s: interrupted while the connection was busy".formatted(target));
            }
            throw RpcRequests.timeout(target, deadline, "the connection was busy");
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
                    throw RpcRequests.timeout(target, deadline, "its server is behind, and the ring is full");
                }
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                Polling.sleepNs(ROOM_PAUSE_NS);
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

    /** {@link Post#BUSY}: the deadline has passed, or the thread was interrupted. */
    private static Post postUntilAccepted(RpcBinding binding, RpcSlot slot, int place, int length, long deadlineNs) {
        for (BusyPause busy = new BusyPause(); ; busy.pause()) {
            Post post = RpcRequests.post(binding, slot, place, length, Poster.NOBODY);
            if (post != Post.BUSY
                    || deadlineNs - System.nanoTime() <= 0
                    || Thread.currentThread().isInterrupted()) {
                return post;
            }
        }
    }

    /** Returns if the reply is in the slot. Otherwise releases or abandons the slot and throws. */
    private void finish(FunctionClient target, RpcSlot slot, boolean over, Duration deadline) {
        if (!over && slot.change(RpcSlot.WAITING, RpcSlot.ABANDONED)) {
            engine.abandoned(target.nodeId());
            if (Thread.currentThread().isInterrupted()) {
                throw new NodeUnreachableException("%s: interrupted".formatted(target));
            }
            throw RpcRequests.noReply(target, deadline);
        }
        if (slot.state() == RpcSlot.LOST) {
            Peer peer = slot.peer;
            slot.giveBack();
            throw requests.broke(target, peer);
        }
    }
}

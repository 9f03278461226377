package dev.lite.tier.rpc;

import dev.lite.api.LtRpc;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.fabric.Post;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.peer.BusyPause;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PollRole;
import dev.lite.tier.peer.Poster;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** Makes calls that no thread waits for. See {@link PostedCall} for their ends. Any thread; never blocks. */
final class PostedCalls {
    private final RpcEngine engine;
    private final RpcReplies replies;
    private final RpcRequests requests;

    PostedCalls(RpcEngine engine, RpcReplies replies, RpcRequests requests) {
        this.engine = engine;
        this.replies = replies;
        this.requests = requests;
    }

    /**
     * Posts a call, if it needs no waiting: its binding is known, and a slot and room in the ring
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
            RpcRequests.prepare(target, slot, room, length, contextBytes);
            RpcRequests.putRequest(slot, request, false);
            slot.principal = target.principal();
            slot.function = target.function();
            postToSelf(target, function, slot, call);
            return true;
        }
        Peer peer = engine.connected(node);
        RpcBinding binding = peer == null ? null : target.knownBinding(peer);
        if (binding == null) {
            return false;
        }
        RpcSlot slot = RpcRequests.tryTake(binding, length, room);
        if (slot == null) {
            return false;
        }
        RpcRequests.prepare(target, slot, room, length, contextBytes);
        return tryPostToPeer(target, binding, slot, request, System.nanoTime() + timeoutNs, call);
    }

    private void postToSelf(FunctionClient target, RpcFunction function, RpcSlot slot, PostedCall call) {
        long callId = slot.callId;
        call.begin(this, target, slot);
        slot.posted(call);
        boolean taken;
        try {
            taken = function.arrived(slot.entry);
        } catch (RuntimeException | Error e) { // the function has the call, and may answer it
            Unrecoverable.report(e);
            if (call.abandon()) {
                call.failed(exception("the call could not be handed over", e));
            }
            return;
        }
        if (taken) {
            return;
        }
        if (slot.endPosted(call, RpcSlot.OWNED)) {
            slot.giveBack();
            call.measured();
            call.failed(engine.notServed(function.name));
        } else if (slot.changeOf(callId, RpcSlot.ABANDONED, RpcSlot.OWNED)) { // given up meanwhile
            slot.giveBack();
        }
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
        boolean remote = requests.staysHere(target, binding, slot.requestLength);
        RpcRequests.putRequest(slot, request, remote);
        int bytes = RpcWire.entryBytes(slot.requestLength, remote);
        long start = binding.tryReserve(bytes);
        if (start < 0) {
            requests.crowded(target, binding);
            slot.giveBack();
            return false;
        }
        int padding = binding.padding(start, bytes);
        int place = binding.place(start + padding);
        RpcRequests.putHeader(slot, remote, padding / RpcWire.UNIT_BYTES);
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
            post = RpcRequests.post(binding, slot, place, length, Poster.NOBODY, soon);
            // From here on another thread may have ended the call, and the slot may have another one.
            if (post == Post.BUSY) {
                call.later(() -> postLater(binding, slot, place, length, callId, call));
            }
        } catch (RuntimeException | Error e) { // nobody else ends the call
            Unrecoverable.report(e);
            if (!slot.endPosted(call, RpcSlot.OWNED)) {
                cancelAbandoned(binding, slot, place, length, callId);
                return true;
            }
            try {
                requests.cancel(binding, slot, place, length);
            } finally {
                call.measured();
                call.failed(exception("the call could not be posted", e));
            }
            return true;
        }
        if (post == Post.CLOSED && slot.endPosted(call, RpcSlot.OWNED)) {
            call.lost(slot);
        }
        return true;
    }

    /** Posts a call whose connection was busy. If the call is given up meanwhile, its entry is sent as cancelled. */
    private void postLater(RpcBinding binding, RpcSlot slot, int place, int length, long callId, PostedCall call) {
        for (BusyPause busy = new BusyPause(); slot.isPosted(call); busy.pause()) {
            Post post = RpcRequests.post(binding, slot, place, length, Poster.NOBODY);
            if (post == Post.CLOSED && slot.endPosted(call, RpcSlot.OWNED)) {
                call.lost(slot);
            }
            if (post != Post.BUSY) {
                return;
            }
        }
        cancelAbandoned(binding, slot, place, length, callId);
    }

    /** The call was given up before it was posted, so no reply comes: only this thread or the end of the connection returns the slot. */
    private void cancelAbandoned(RpcBinding binding, RpcSlot slot, int place, int length, long callId) {
        if (slot.changeOf(callId, RpcSlot.ABANDONED, RpcSlot.OWNED)) {
            requests.cancel(binding, slot, place, length);
        }
    }

    /** The reply of a posted call is in its slot, which this thread owns. Never blocks. */
    void deliver(PostedCall call, FunctionClient target, RpcSlot slot) {
        if (!RpcReplies.isElsewhere(slot)) {
            deliverNow(call, target, slot);
            return;
        }
        try {
            call.later(() -> deliverNow(call, target, slot));
        } catch (RuntimeException | Error e) { // no memory for a thread
            call.measured();
            fail(call, slot, e);
        }
    }

    private void deliverNow(PostedCall call, FunctionClient target, RpcSlot slot) {
        call.measured();
        int length;
        try {
            length = RpcRequests.checkedLength(target, slot);
            target.replied(slot, length);
            replies.copy(slot, call.destination(length), length);
        } catch (RuntimeException | Error e) { // also a defect
            fail(call, slot, e);
            return;
        }
        try {
            replies.end(slot);
        } finally {
            call.replied(length);
        }
    }

    /** The reply cannot be taken. Nobody else ends the call. */
    private void fail(PostedCall call, RpcSlot slot, Throwable why) {
        Unrecoverable.report(why);
        try {
            replies.end(slot);
        } finally {
            call.failed(exception("the reply could not be taken", why));
        }
    }

    /** What a call or receive that no thread waits for ends with. */
    static RuntimeException exception(String what, Throwable failure) {
        if (failure instanceof RuntimeException known) {
            return known;
        }
        try {
            return new RpcFailedException(RpcStatus.UNKNOWN, 0, "%s: %s".formatted(what, failure), failure);
        } catch (RuntimeException | Error e) {
            return Unrecoverable.undescribed(e);
        }
    }

    /** The connection of a posted call was lost. This thread owns the slot. */
    void lost(PostedCall call, FunctionClient target, RpcSlot slot) {
        Peer peer = slot.peer;
        try {
            slot.giveBack();
        } finally {
            call.measured();
            call.failed(broke(target, peer));
        }
    }

    private RuntimeException broke(FunctionClient target, @Nullable Peer peer) {
        try {
            return requests.broke(target, peer);
        } catch (RuntimeException | Error e) { // nobody else ends the call
            return Unrecoverable.undescribed(e);
        }
    }

    /** A posted call was given up: its slot is in quarantine. */
    void abandoned(FunctionClient target) {
        engine.abandoned(target.nodeId());
    }
}

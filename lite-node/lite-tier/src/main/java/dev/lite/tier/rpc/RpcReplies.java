package dev.lite.tier.rpc;

import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.peer.ImmediateKind;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PollRole;
import dev.lite.tier.peer.Poster;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sends and receives the replies of calls. Any thread; arrivals are handled on the thread that holds the poll role. */
final class RpcReplies {
    private static final Logger log = LoggerFactory.getLogger(RpcReplies.class);
    private static final long BUSY_PAUSE_NS = 20_000;
    private static final long REPLY_TIMEOUT_NS = 5_000_000_000L;

    private final RpcSlots slots;

    RpcReplies(RpcSlots slots) {
        this.slots = slots;
    }

    /** Handles a peer's reply, which arrived in the slot with this index. */
    void arrived(Peer peer, int index) {
        RpcSlot slot = slots.get(index);
        if (slot != null && slot.peer == peer) {
            arrived(slot, RawMemory.getLong(slot.replyAddress + RpcWire.REPLY_CALL_ID));
        }
    }

    /** Handles a reply that is in its slot. */
    private void arrived(RpcSlot slot, long callId) {
        if (slot.callId != callId) {
            return;
        }
        if (slot.change(RpcSlot.WAITING, RpcSlot.REPLIED)) {
            slot.signal();
        } else if (slot.change(RpcSlot.ABANDONED, RpcSlot.OWNED)) {
            slots.giveBack(slot); // a late reply ends the quarantine
        }
    }

    /** Handles the completion of a slot's post that no thread waits for. */
    void sent(int index) {
        RpcSlot slot = slots.get(index);
        if (slot != null && slot.change(RpcSlot.SENDING, RpcSlot.OWNED)) {
            slots.giveBack(slot);
        }
    }

    /**
     * Sends the reply of a call. May wait while the connection is busy, but never while it holds the role.
     *
     * @param role the poll role to take before the reply is posted, or null
     * @return whether the caller now holds the role
     */
    boolean reply(ReceivedCall call, int status, MemorySegment reply, @Nullable PollRole role) {
        Peer peer = call.peer;
        int length = (int) reply.byteSize();
        if (peer == null) {
            replySelf(call, status, reply, length);
            return false;
        }
        RpcSlot out = slots.tryTake(length);
        if (out == null) {
            out = slots.take(length, System.nanoTime() + REPLY_TIMEOUT_NS);
        }
        put(out.outAddress, call.callId, status, reply, length);
        out.state(RpcSlot.SENDING);
        boolean held = role != null && role.take();
        Post post = postReply(peer, call, out, length);
        if (post == Post.BUSY) {
            if (held && role != null) {
                role.release();
                held = false;
            }
            long deadlineNs = System.nanoTime() + REPLY_TIMEOUT_NS;
            while (post == Post.BUSY && deadlineNs - System.nanoTime() > 0) {
                Polling.sleepNs(BUSY_PAUSE_NS);
                post = postReply(peer, call, out, length);
            }
        }
        if (post == Post.BUSY) {
            log.warn("node {} takes no replies: dropped one", peer.hello().node());
        }
        if (post != Post.ACCEPTED) {
            slots.giveBack(out);
        }
        return held;
    }

    private static Post postReply(Peer peer, ReceivedCall call, RpcSlot out, int length) {
        try {
            return peer.endpoint()
                    .writeImm(
                            call.replyTo,
                            out.outAddress,
                            RpcWire.REPLY_HEADER_BYTES + length,
                            ImmediateKind.CALL_REPLY.with(call.slot & RpcWire.SLOT_MASK),
                            Poster.CALL_SLOT.context(out.index));
        } catch (IndexOutOfBoundsException e) {
            log.error(
                    "node {} wants a reply outside its arena; cutting its connection",
                    peer.hello().node(),
                    e);
            peer.endpoint().close();
            return Post.CLOSED;
        }
    }

    private void replySelf(ReceivedCall call, int status, MemorySegment reply, int length) {
        RpcSlot slot = slots.get(call.slot);
        if (slot != null) {
            put(slot.replyAddress, call.callId, status, reply, length);
            arrived(slot, call.callId);
        }
    }

    private static void put(long address, long callId, int status, MemorySegment message, int length) {
        RawMemory.putLong(address + RpcWire.REPLY_CALL_ID, callId);
        RawMemory.putInt(address + RpcWire.REPLY_STATUS, status);
        RawMemory.putInt(address + RpcWire.REPLY_LENGTH, length);
        RawMemory.copyFrom(message, 0, address + RpcWire.REPLY_HEADER_BYTES, length);
    }
}

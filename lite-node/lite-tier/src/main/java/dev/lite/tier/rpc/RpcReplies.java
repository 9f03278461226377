package dev.lite.tier.rpc;

import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.RepeatedLines;
import dev.lite.tier.peer.BusyPause;
import dev.lite.tier.peer.ImmediateKind;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PollRole;
import dev.lite.tier.peer.Poster;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends and receives the replies of calls. Any thread; arrivals are handled on the thread that holds the poll role.
 *
 * <p>A reply that is too long for its caller's slot stays in a slot of the server, in state OFFERED. The caller reads it
 * from there and reports that, exactly once for each offer, also if its call has timed out meanwhile.
 */
final class RpcReplies {
    private static final Logger log = LoggerFactory.getLogger(RpcReplies.class);
    private static final long REPLY_TIMEOUT_NS = 5_000_000_000L;

    private final RpcSlots slots;
    private final PeerReads reads;
    private final Predicate<Peer> connected;
    private final Predicate<Runnable> later;
    /** An interrupted thread waits for no reply, and could write a line for each. */
    private final RepeatedLines lines = new RepeatedLines(1, Duration.ofNanos(REPLY_TIMEOUT_NS));

    /** @param later runs tasks that may block; false: drops one, since the node stops */
    RpcReplies(RpcSlots slots, PeerReads reads, Predicate<Peer> connected, Predicate<Runnable> later) {
        this.slots = slots;
        this.reads = reads;
        this.connected = connected;
        this.later = later;
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
            return;
        }
        PostedCall posted = slot.takePosted(callId);
        if (posted != null) {
            posted.arrived(slot);
        } else if (slot.change(RpcSlot.ABANDONED, RpcSlot.OWNED)) {
            Peer peer = slot.peer;
            try {
                if (peer != null && status(slot) == RpcWire.REPLY_ELSEWHERE) {
                    int offered = RawMemory.getInt(slot.replyAddress + RpcWire.ELSEWHERE_SLOT);
                    boolean unused = later.test(() -> reportRead(peer, offered));
                }
            } finally { // also without memory for a thread
                slot.giveBack(); // a late reply ends the quarantine
            }
        }
    }

    /** Whether {@link #copy} will read the reply from the server's node, which may block. */
    static boolean isElsewhere(RpcSlot slot) {
        return slot.longReply == null && status(slot) == RpcWire.REPLY_ELSEWHERE;
    }

    private static int status(RpcSlot slot) {
        return RawMemory.getInt(slot.replyAddress + RpcWire.REPLY_STATUS);
    }

    /** Handles the completion of a slot's post that no thread waits for. */
    void sent(int index) {
        RpcSlot slot = slots.get(index);
        if (slot != null && slot.change(RpcSlot.SENDING, RpcSlot.OWNED)) {
            slot.giveBack();
        }
    }

    /** Handles a caller's report that it has read the reply in the slot with this index. */
    void wasRead(Peer peer, int index) {
        RpcSlot slot = slots.get(index);
        if (slot != null && slot.changeOf(peer, RpcSlot.OFFERED, RpcSlot.OWNED)) {
            slot.giveBack();
        }
    }

    /**
     * Copies the reply of a call that is over. The thread owns the slot. {@link #end} must follow.
     *
     * @param to has room for the length
     * @throws NodeUnreachableException if the reply is still at the server's node, and the connection is lost
     * @throws LmrUnavailableException if it is there, and the thread is interrupted
     * @throws dev.lite.api.LiteTimeoutException if it could not be read from there until the call's deadline
     */
    void copy(RpcSlot slot, MemorySegment to, int length) {
        byte[] own = slot.longReply;
        if (own != null) {
            slot.longReply = null;
            MemorySegment.copy(own, 0, to, ValueLayout.JAVA_BYTE, 0, length);
        } else if (status(slot) == RpcWire.REPLY_ELSEWHERE) {
            read(Objects.requireNonNull(slot.peer), slot, to, length);
        } else {
            RawMemory.copyTo(slot.replyAddress + RpcWire.REPLY_HEADER_BYTES, to, 0, length);
        }
    }

    private void read(Peer peer, RpcSlot slot, MemorySegment to, int length) {
        long offset = RawMemory.getLong(slot.replyAddress + RpcWire.ELSEWHERE_OFFSET);
        try {
            Duration left = Duration.ofNanos(Math.max(0, slot.deadlineNs - System.nanoTime()));
            reads.read(peer, offset, to, length, Deadline.in(left));
        } catch (LmrUnavailableException e) {
            throw Thread.currentThread().isInterrupted() ? e : lost(peer, e);
        }
        if (!connected.test(peer)) {
            throw lost(peer, null);
        }
    }

    /**
     * Gives back the slot of a call that is over, whose reply was {@linkplain #copy copied} or cannot be. The thread owns the slot. If
     * the reply is at the server's node, this reports that nobody reads it any more.
     */
    void end(RpcSlot slot) {
        Peer peer = slot.peer;
        try {
            if (peer != null && status(slot) == RpcWire.REPLY_ELSEWHERE) {
                reportRead(peer, RawMemory.getInt(slot.replyAddress + RpcWire.ELSEWHERE_SLOT));
            }
        } finally {
            slot.giveBack();
        }
    }

    private static NodeUnreachableException lost(Peer peer, @Nullable LmrUnavailableException why) {
        return new NodeUnreachableException(
                "node %s was lost while its reply was read"
                        .formatted(peer.hello().node()),
                why);
    }

    private void reportRead(Peer peer, int offered) {
        if (postRead(peer, offered) == Post.BUSY) {
            boolean unused = later.test(() -> {
                BusyPause busy = new BusyPause();
                while (postRead(peer, offered) == Post.BUSY) {
                    busy.pause(); // until the post is accepted or the connection ends
                }
            });
        }
    }

    private static Post postRead(Peer peer, int offered) {
        int immediate = ImmediateKind.CALL_REPLY_READ.with(offered & RpcWire.SLOT_MASK);
        return peer.endpoint().writeImm(0, 0, 0, immediate, Poster.NOBODY);
    }

    /**
     * Sends the reply of a call. May wait while the connection is busy, but never while it holds the role.
     *
     * @param role the poll role to take before the reply is posted, or null
     * @param more whether this thread will soon post another reply, or poll
     * @return whether the caller now holds the role
     */
    boolean reply(ReceivedCall call, int status, MemorySegment reply, @Nullable PollRole role, boolean more) {
        RpcRing ring = call.ring;
        int length = (int) reply.byteSize();
        if (ring == null) {
            replySelf(call, status, reply, length);
            return false;
        }
        RpcSlot out = take(ring, length);
        if (out == null) {
            return false;
        }
        boolean fits = length <= call.room;
        int bytes = assemble(ring, call, status, reply, out);
        boolean held = role != null && role.take();
        Post post;
        try {
            post = postReply(ring.peer, call, out, bytes, fits, more);
        } catch (RuntimeException | Error e) {
            if (held && role != null) {
                role.release();
            }
            throw e;
        }
        if (post == Post.BUSY) {
            if (held && role != null) {
                role.release();
                held = false;
            }
            long deadlineNs = System.nanoTime() + REPLY_TIMEOUT_NS;
            BusyPause busy = new BusyPause();
            while (post == Post.BUSY
                    && deadlineNs - System.nanoTime() > 0
                    && !Thread.currentThread().isInterrupted()) {
                busy.pause();
                post = postReply(ring.peer, call, out, bytes, fits, false);
            }
        }
        if (post == Post.BUSY) {
            try {
                String node = ring.peer.hello().node();
                String suffix = lines.suffix(node);
                if (suffix != null) {
                    log.warn("node {} takes no replies; one waits{}", node, suffix);
                }
            } catch (RuntimeException | Error e) { // nothing was sent; the call may be answered again
                posted(out, Post.CLOSED, fits);
                throw e;
            }
            sendLater(ring.peer, call, out, bytes, fits);
        } else {
            posted(out, post, fits);
        }
        return held;
    }

    /** Puts the reply into an owned slot, or returns the slot if the reply's memory was closed meanwhile. Returns the number of bytes to post. */
    private static int assemble(RpcRing ring, ReceivedCall call, int status, MemorySegment reply, RpcSlot out) {
        try {
            return put(ring, call, status, reply, out);
        } catch (RuntimeException | Error e) {
            out.giveBack();
            throw e;
        }
    }

    private static int put(RpcRing ring, ReceivedCall call, int status, MemorySegment reply, RpcSlot out) {
        int length = (int) reply.byteSize();
        if (length <= call.room) {
            put(out.outAddress, call.callId, status, reply, length);
            out.state(RpcSlot.SENDING);
            return RpcWire.REPLY_HEADER_BYTES + length;
        }
        offer(ring.peer, call, out, reply, length);
        return RpcWire.REPLY_HEADER_BYTES + RpcWire.ELSEWHERE_BYTES;
    }

    /**
     * {@link #reply} that never waits. While the connection is busy, another thread posts the reply.
     *
     * @param soon whether this thread will soon post another reply, or poll
     * @return false if no slot is free now; then nothing has happened
     */
    boolean tryReply(ReceivedCall call, int status, MemorySegment reply, boolean soon) {
        RpcRing ring = call.ring;
        int length = (int) reply.byteSize();
        if (ring == null) {
            replySelf(call, status, reply, length);
            return true;
        }
        RpcSlot out;
        try {
            out = ring.replies.tryTake(length);
        } catch (NodeUnreachableException e) {
            return true; // nobody waits for the reply any more
        }
        if (out == null) {
            return false;
        }
        boolean fits = length <= call.room;
        int bytes = assemble(ring, call, status, reply, out);
        Post post = postReply(
                ring.peer, call, out, bytes, fits, soon && ring.peer.pollRole().wasMine());
        if (post == Post.BUSY) {
            sendLater(ring.peer, call, out, bytes, fits);
        } else {
            posted(out, post, fits);
        }
        return true;
    }

    /** Returns null if the caller's connection has ended. */
    private static @Nullable RpcSlot take(RpcRing ring, int length) {
        try {
            RpcSlot out = ring.replies.tryTake(length);
            return out != null ? out : ring.replies.take(length, System.nanoTime() + REPLY_TIMEOUT_NS);
        } catch (NodeUnreachableException e) {
            return null;
        }
    }

    /** Lets the handler continue. Its caller waits for the reply, or has its slot in quarantine until it comes. */
    private void sendLater(Peer peer, ReceivedCall call, RpcSlot out, int bytes, boolean fits) {
        boolean starts = false;
        try {
            starts = later.test(() -> {
                Post post;
                BusyPause busy = new BusyPause();
                try {
                    while ((post = postReply(peer, call, out, bytes, fits, false)) == Post.BUSY) {
                        busy.pause(); // until the post is accepted or the connection ends
                    }
                } catch (RuntimeException | Error e) {
                    call.reopen(); // nobody answers it any more, but its caller can cancel it
                    throw e;
                }
                posted(out, post, fits);
            });
        } finally {
            if (!starts) { // also if there is no memory for a thread: the call is unanswered then
                posted(out, Post.CLOSED, fits);
            }
        }
    }

    private static void posted(RpcSlot out, Post post, boolean fits) {
        if (fits) {
            if (post != Post.ACCEPTED) {
                out.giveBack();
            }
        } else if (post == Post.CLOSED && out.change(RpcSlot.OFFERED, RpcSlot.OWNED)) {
            out.giveBack();
        }
    }

    private static void offer(Peer peer, ReceivedCall call, RpcSlot out, MemorySegment reply, int length) {
        RawMemory.copyFrom(reply, 0, out.replyAddress + RpcWire.REPLY_HEADER_BYTES, length);
        putHeader(out.outAddress, call.callId, RpcWire.REPLY_ELSEWHERE, length);
        RawMemory.putLong(out.outAddress + RpcWire.ELSEWHERE_OFFSET, out.replyOffset + RpcWire.REPLY_HEADER_BYTES);
        RawMemory.putInt(out.outAddress + RpcWire.ELSEWHERE_SLOT, out.index);
        out.peer = peer;
        out.state(RpcSlot.OFFERED);
    }

    private static Post postReply(Peer peer, ReceivedCall call, RpcSlot out, int bytes, boolean fits, boolean more) {
        try {
            int immediate = ImmediateKind.CALL_REPLY.with(call.slot & RpcWire.SLOT_MASK);
            long context = fits ? Poster.CALL_SLOT.context(out.index) : Poster.NOBODY;
            FabricEndpoint endpoint = peer.endpoint();
            return more
                    ? endpoint.writeImmSoon(call.replyTo, out.outAddress, bytes, immediate, context)
                    : endpoint.writeImm(call.replyTo, out.outAddress, bytes, immediate, context);
        } catch (IndexOutOfBoundsException e) {
            log.error(
                    "node {} wants a reply outside its arena; cutting its connection",
                    peer.hello().node(),
                    e);
            peer.endpoint().close();
            return Post.CLOSED;
        } catch (RuntimeException | Error e) { // nothing was sent; the call may be answered again
            posted(out, Post.CLOSED, fits);
            throw e;
        }
    }

    private void replySelf(ReceivedCall call, int status, MemorySegment reply, int length) {
        RpcSlot slot = slots.get(call.slot);
        if (slot == null || !slots.beginServing(slot)) {
            return;
        }
        try {
            if (length <= call.room) {
                put(slot.replyAddress, call.callId, status, reply, length);
            } else {
                putHeader(slot.replyAddress, call.callId, RpcWire.REPLY_ELSEWHERE, length);
                slot.longReply = reply.toArray(ValueLayout.JAVA_BYTE);
            }
        } finally {
            slot.endServing(); // before the call ends: its slot may have another one then
        }
        arrived(slot, call.callId);
    }

    private static void put(long address, long callId, int status, MemorySegment message, int length) {
        putHeader(address, callId, status, length);
        RawMemory.copyFrom(message, 0, address + RpcWire.REPLY_HEADER_BYTES, length);
    }

    private static void putHeader(long address, long callId, int status, int length) {
        RawMemory.putLong(address + RpcWire.REPLY_CALL_ID, callId);
        RawMemory.putInt(address + RpcWire.REPLY_STATUS, status);
        RawMemory.putInt(address + RpcWire.REPLY_LENGTH, length);
    }
}

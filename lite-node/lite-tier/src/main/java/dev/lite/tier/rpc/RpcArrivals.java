package dev.lite.tier.rpc;

import dev.lite.api.LiteException;
import dev.lite.api.RpcStatus;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.peer.Peer;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.IntFunction;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Takes arrived calls out of their rings and slots: to serve, refuse or cancel them. Any thread. */
final class RpcArrivals {
    private static final Logger log = LoggerFactory.getLogger(RpcArrivals.class);
    private static final Duration REMOTE_REQUEST_TIMEOUT = Duration.ofSeconds(5);
    private static final byte[] NONE = {};

    private final String selfName;
    private final RpcSlots slots;
    private final RpcReplies replies;
    private final PeerReads reads;
    private final Predicate<Peer> connected;
    private final Executor later;

    /** Makes room for requests; another one in tests. */
    IntFunction<byte[]> memory = byte[]::new;

    /**
     * @param connected whether the links still know a connection
     * @param later runs tasks that may block
     */
    RpcArrivals(
            String selfName,
            RpcSlots slots,
            RpcReplies replies,
            PeerReads reads,
            Predicate<Peer> connected,
            Executor later) {
        this.selfName = selfName;
        this.slots = slots;
        this.replies = replies;
        this.reads = reads;
        this.connected = connected;
        this.later = later;
    }

    /**
     * Copies a call out of its ring or slot and frees the ring's room. If it fails before that, the call is
     * queued again: else nobody would free the room, and the caller could not cancel the call.
     *
     * @param function whose call it is
     * @return null if the call was cancelled, lost its connection or is malformed, or if the node has stopped
     * @throws OutOfMemoryError if there is no memory. For the request: the call has failed then. For anything else: it
     *     is queued again
     */
    @Nullable
    ReceivedCall take(RpcFunction function, RpcEntry entry) {
        ReceivedCall call = takeNow(function, entry);
        return call == null || call.remoteRequest == 0 ? call : fetched(call);
    }

    /** {@link #take} that never blocks: the request of a call with a {@code remoteRequest} is still to be {@link #fetched}. */
    @Nullable
    ReceivedCall takeNow(RpcFunction function, RpcEntry entry) {
        RpcRing ring = entry.ring;
        if (ring != null) {
            return takeFromRing(ring, entry, false);
        }
        RpcSlot slot = entry.slot;
        if (slot == null) {
            throw new IllegalStateException("an entry belongs to a ring or to a slot");
        }
        return takeOwn(function, entry, slot);
    }

    private @Nullable ReceivedCall takeOwn(RpcFunction function, RpcEntry entry, RpcSlot slot) {
        ReceivedCall call = null;
        OutOfMemoryError noMemory = null;
        boolean taken = false;
        try {
            byte[] request = NONE;
            try {
                request = memory.apply(slot.requestLength);
            } catch (OutOfMemoryError e) {
                noMemory = e;
            }
            if (noMemory != null || copied(slot, request)) {
                call = ownCall(slot, request);
                slot.received = call; // first: if it cannot be answered, its caller can still cancel it
            }
            taken = true;
        } finally {
            if (!taken) {
                function.putBack(entry, true);
            }
        }
        if (noMemory != null) {
            failForMemory(Objects.requireNonNull(call), noMemory);
            throw noMemory;
        }
        return call;
    }

    /** Copies the request out of a slot of this node; false: the node has stopped. */
    private boolean copied(RpcSlot slot, byte[] request) {
        if (!slots.beginServing(slot)) {
            return false;
        }
        try {
            RawMemory.copyTo(slot.outAddress + RpcWire.REQUEST, MemorySegment.ofArray(request), 0, request.length);
        } finally {
            slot.endServing();
        }
        return true;
    }

    private ReceivedCall ownCall(RpcSlot slot, byte[] request) {
        return new ReceivedCall(
                replies,
                null,
                selfName,
                slot.principal,
                request,
                request.length == 0 ? 0 : slot.contextLength,
                slot.index,
                slot.capacity,
                0,
                slot.callId,
                slot.replyCapacity,
                0);
    }

    /** @param refuses whether the call is taken to refuse it; then it is not refused again if that fails */
    private @Nullable ReceivedCall takeFromRing(RpcRing ring, RpcEntry entry, boolean refuses) {
        Peer peer = ring.peer;
        ReceivedCall call = null;
        OutOfMemoryError noMemory = null;
        boolean taken = false;
        try {
            synchronized (ring) {
                if (!ring.isAlive()) {
                    taken = true;
                    return null;
                }
                long at = ring.address(entry.place);
                int length = RawMemory.getInt(at + RpcWire.LENGTH);
                int word = RawMemory.getInt(at + RpcWire.PADDING_AND_FLAGS);
                int capacity = RawMemory.getInt(at + RpcWire.CAPACITY);
                int slot = RawMemory.getInt(at + RpcWire.SLOT);
                if (!isWellFormed(ring, entry.place, length, word, capacity, slot)) {
                    taken = true;
                    cut(peer, length, word);
                    return null;
                }
                boolean isRemote = (word & RpcWire.FLAG_REMOTE) != 0;
                if ((word & RpcWire.FLAG_CANCELLED) == 0) {
                    byte[] request = NONE;
                    try {
                        request = memory.apply(length);
                        if (!isRemote) {
                            RawMemory.copyTo(at + RpcWire.REQUEST, MemorySegment.ofArray(request), 0, length);
                        }
                    } catch (OutOfMemoryError e) {
                        noMemory = e;
                    }
                    call = new ReceivedCall(
                            replies,
                            ring,
                            peer.hello().node(),
                            ring.principal,
                            request,
                            noMemory == null ? contextBytes(word) : 0,
                            slot,
                            RpcSlots.capacity(sizeClass(word)),
                            RawMemory.getLong(at + RpcWire.REPLY_TO),
                            RawMemory.getLong(at + RpcWire.CALL_ID),
                            capacity,
                            isRemote && noMemory == null ? RawMemory.getLong(at + RpcWire.REQUEST) : 0);
                }
                taken = true; // first: if a part of the rest fails, the entry may be consumed all the same
                ring.consume(entry.place, word & RpcWire.PADDING_MASK, RpcWire.entryBytes(length, isRemote));
            }
        } finally {
            if (!taken) { // without the lock of the ring, which is taken after that of the function
                ring.function.putBack(entry, !refuses);
            }
        }
        if (call == null) {
            return null;
        }
        ring.received.setRelease(call.slot, call);
        if (noMemory != null) {
            failForMemory(call, noMemory);
            throw noMemory;
        }
        return call;
    }

    private static int sizeClass(int word) {
        return (word >>> RpcWire.SIZE_CLASS_SHIFT) & RpcWire.SIZE_CLASS_MASK;
    }

    private static int contextBytes(int word) {
        return (word >>> RpcWire.CONTEXT_SHIFT) & RpcWire.CONTEXT_MASK;
    }

    private static boolean isWellFormed(RpcRing ring, int place, int length, int word, int capacity, int slot) {
        boolean isRemote = (word & RpcWire.FLAG_REMOTE) != 0;
        return sizeClass(word) < RpcSlots.SIZES
                && RpcSlots.isIndex(slot)
                && RpcWire.isMessageLength(length)
                && RpcWire.isMessageLength(capacity)
                && RpcWire.isContextLength(contextBytes(word), length)
                && (isRemote || length <= RpcWire.INLINE_BYTES_MAX)
                && ring.isPossible(place, word & RpcWire.PADDING_MASK, RpcWire.entryBytes(length, isRemote));
    }

    private static void cut(Peer peer, int length, int word) {
        log.error(
                "node {} sent a malformed call; cutting its connection: length {}, word 0x{}",
                peer.hello().node(),
                length,
                Integer.toHexString(word));
        peer.endpoint().close();
    }

    /** Reads the request of a call that has a {@code remoteRequest}. May block. Returns null if the call is over. */
    @Nullable
    ReceivedCall fetched(ReceivedCall call) {
        RpcRing ring = Objects.requireNonNull(call.ring);
        if (!fetch(ring, call.remoteRequest, call.message())) {
            String message = "the request could not be read at node %s"
                    .formatted(ring.peer.hello().node());
            call.fail(RpcStatus.REFUSED, 0, message);
            return null;
        }
        // A cancelled call's slot may have had another content when its request was read.
        return call.isCancelled() ? null : call;
    }

    /** Reads a long request from its caller's slot. */
    private boolean fetch(RpcRing ring, long offset, byte[] request) {
        Peer peer = ring.peer;
        try {
            Deadline deadline = Deadline.in(REMOTE_REQUEST_TIMEOUT);
            reads.read(peer, offset, MemorySegment.ofArray(request), request.length, deadline);
            return connected.test(peer);
        } catch (LiteException | IndexOutOfBoundsException e) {
            log.debug(
                    "dropped a call of {} by node {}",
                    ring.function.name,
                    peer.hello().node(),
                    e);
            return false;
        }
    }

    /** Answers a call whose function nobody serves. Never blocks: an answer that has to wait is sent by another thread. */
    void refuse(RpcEntry entry) {
        RpcRing ring = entry.ring;
        RpcSlot slot = entry.slot;
        if (ring == null && slot != null) {
            ReceivedCall call = ownCall(slot, NONE);
            slot.received = call; // first: if it cannot be answered, its caller can still cancel it
            failNotServed(call, slot.function);
        } else if (ring != null) {
            ReceivedCall call;
            try {
                call = takeFromRing(ring, entry, true); // its request is not needed
            } catch (OutOfMemoryError e) { // the call has failed, or waits until its caller's deadline
                log.warn("node {} had no memory for a call that it refused", selfName, e);
                return;
            }
            if (call != null) {
                failNotServed(call, ring.function.name);
            }
        }
    }

    private void failNotServed(ReceivedCall call, String function) {
        failNotExecuted(call, RpcNames.notServed(function, selfName));
    }

    private void failForMemory(ReceivedCall call, OutOfMemoryError why) {
        try {
            failNotExecuted(call, "node %s had no memory for the request".formatted(selfName));
        } catch (RuntimeException | Error e) {
            Unrecoverable.note(why, e);
        }
    }

    private void failNotExecuted(ReceivedCall call, String message) {
        if (!call.tryFail(RpcStatus.NOT_SERVED, 0, message)) {
            later.execute(() -> call.fail(RpcStatus.NOT_SERVED, 0, message));
        }
    }

    /** Cancels another node's call, queued or received. Returns false if it is neither, or is answered. */
    boolean cancel(@Nullable RpcRing ring, int place, int slot, long callId) {
        if (ring == null || !RpcSlots.isIndex(slot)) {
            return false;
        }
        ReceivedCall received = ring.received.get(slot);
        if (received != null && received.cancel(callId)) {
            return true;
        }
        RpcEntry entry = ring.function.unqueue(
                queued -> queued.ring == ring && queued.place == place && ring.cancel(place, slot, callId));
        if (entry == null) {
            return false;
        }
        ReceivedCall none = take(ring.function, entry); // only frees the entry's room
        assert none == null;
        return true;
    }

    /** Cancels a call of this node to itself, queued or received. Returns false if it is neither, or is answered. */
    static boolean cancelOwn(RpcSlot slot, long callId, @Nullable RpcFunction function) {
        ReceivedCall received = slot.received;
        if (received != null && received.cancel(callId)) {
            return true;
        }
        // A queued call's slot does not change. The slot may have another call by now.
        return function != null && function.unqueue(queued -> queued.slot == slot && slot.callId == callId) != null;
    }
}

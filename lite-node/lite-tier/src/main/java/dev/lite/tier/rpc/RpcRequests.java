package dev.lite.tier.rpc;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Durations;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.wire.WireError;
import dev.lite.tier.peer.BusyPause;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.Poster;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Puts the requests of calls into rings, and reads the replies: what calls with and without a waiting thread share. Any thread. */
final class RpcRequests {
    private static final Logger log = LoggerFactory.getLogger(RpcRequests.class);
    private static final long ENLARGE_TIMEOUT_NS = 5_000_000_000L;

    private final RpcEngine engine;
    private final RpcBindings bindings;

    RpcRequests(RpcEngine engine, RpcBindings bindings) {
        this.engine = engine;
        this.bindings = bindings;
    }

    /**
     * A slot with room for the request and for the reply that is to be expected; or only for the request, if there is no
     * such slot now: a longer reply is then read from the server's node.
     */
    static @Nullable RpcSlot tryTake(RpcBinding binding, int length, int capacity) {
        int expected = Math.min(capacity, binding.expectedReplyBytes());
        if (expected > length) {
            RpcSlot slot = binding.slots.tryTake(expected);
            if (slot != null) {
                return slot;
            }
        }
        return binding.slots.tryTake(length);
    }

    static void prepare(FunctionClient target, RpcSlot slot, int capacity, int length, int contextBytes) {
        slot.callId++;
        slot.low = target.isLow();
        slot.longReply = null;
        slot.received = null;
        slot.replyCapacity = capacity;
        slot.requestLength = length;
        slot.contextLength = contextBytes;
    }

    /**
     * Copies the request into its slot. Before room in the ring is reserved, which must not fail any more: the memory of the
     * request may have been closed while the call waited. Then this returns the slot.
     */
    static void putRequest(RpcSlot slot, MemorySegment request, boolean remote) {
        int place = remote ? RpcSlots.OUT_HEADER_BYTES : RpcWire.REQUEST;
        try {
            RawMemory.copyFrom(request, 0, slot.outAddress + place, slot.requestLength);
        } catch (RuntimeException | Error e) {
            slot.giveBack();
            throw e;
        }
    }

    /** Whether the request stays in the caller's slot, and the server reads it from there. */
    boolean staysHere(FunctionClient target, RpcBinding binding, int length) {
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

    /** The ring was fairly full for a call. If that happens often, asks for a larger one, on another thread. Does not throw. */
    void crowded(FunctionClient target, RpcBinding binding) {
        if (!binding.isCrowded()) {
            return;
        }
        try {
            engine.execute(() -> enlarge(target, binding));
        } catch (RuntimeException | Error e) { // no memory for a thread: the small ring serves as well
            binding.askAgainLater();
            Unrecoverable.report(e);
            log.warn("{} keeps its ring for now", target, e);
        }
    }

    private void enlarge(FunctionClient target, RpcBinding binding) {
        try {
            bindings.enlarge(binding, target.function(), target.principal(), System.nanoTime() + ENLARGE_TIMEOUT_NS);
        } catch (RpcFailedException e) {
            log.debug("{} keeps its ring", target, e);
        } catch (LiteException e) {
            log.debug("{} keeps its ring for now", target, e);
            binding.askAgainLater();
        }
    }

    static void putHeader(RpcSlot slot, boolean remote, int paddingUnits) {
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

    static Post post(RpcBinding binding, RpcSlot slot, int place, int length, long context) {
        return post(binding, slot, place, length, context, false);
    }

    /** @param soon whether this thread will soon post another call, or poll */
    static Post post(RpcBinding binding, RpcSlot slot, int place, int length, long context, boolean soon) {
        FabricEndpoint endpoint = binding.peer.endpoint();
        long to = binding.ringOffset + place;
        int immediate = RpcWire.callImmediate(binding.ring, place);
        return soon
                ? endpoint.writeImmSoon(to, slot.outAddress, length, immediate, context)
                : endpoint.writeImm(to, slot.outAddress, length, immediate, context);
    }

    /**
     * Sends the reserved entry as cancelled, so that the server frees its room. Otherwise the ring would have a hole. Then the slot is
     * free, also if that fails: without memory for it, the connection ends, and the ring with it.
     */
    void cancel(RpcBinding binding, RpcSlot slot, int place, int length) {
        long word = slot.outAddress + RpcWire.PADDING_AND_FLAGS;
        RawMemory.putInt(word, RawMemory.getInt(word) | RpcWire.FLAG_CANCELLED);
        slot.state(RpcSlot.SENDING);
        boolean starts = false;
        boolean failed = true;
        try {
            starts = engine.tryExecute(() -> postCancelled(binding, slot, place, length));
            failed = false;
        } finally {
            try {
                if (failed) { // no memory for a thread
                    binding.peer.endpoint().close();
                }
            } finally {
                if (!starts) { // the connection has ended, or the node stops
                    slot.giveBack();
                }
            }
        }
    }

    private static void postCancelled(RpcBinding binding, RpcSlot slot, int place, int length) {
        Post post = Post.CLOSED;
        try {
            BusyPause busy = new BusyPause();
            while ((post = post(binding, slot, place, length, Poster.CALL_SLOT.context(slot.index))) == Post.BUSY) {
                busy.pause(); // until the post is accepted or the connection ends
            }
        } catch (IndexOutOfBoundsException e) {
            log.error(
                    "node {} gave a ring that is not in its arena",
                    binding.peer.hello().node(),
                    e);
        } catch (RuntimeException | Error e) { // for example no memory
            binding.peer.endpoint().close();
            throw e;
        } finally {
            if (post != Post.ACCEPTED) {
                slot.giveBack();
            }
        }
    }

    /** The length of the reply in a slot; throws if the reply is an error. */
    static int checkedLength(FunctionClient target, RpcSlot slot) {
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
            throw WireError.exception(status, bytes(slot, length), target.words());
        }
        return length;
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

    /** @param peer null: the call was to this node itself, which stops */
    LiteException broke(FunctionClient target, @Nullable Peer peer) {
        return peer == null
                ? new SessionLostException("%s: the node stops, and the call has no reply".formatted(target))
                : new NodeUnreachableException("%s: the connection broke: %s"
                        .formatted(target, engine.unreachable(peer.id()).getMessage()));
    }

    /** The failure of a call or message without an answer at its deadline. */
    static LiteTimeoutException noReply(FunctionClient target, Duration deadline) {
        return timeout(
                target,
                deadline,
                RpcNames.isPort(target.function()) ? "no answer; the queue of the port may be full" : "no reply");
    }

    static LiteTimeoutException timeout(FunctionClient target, Duration deadline, @Nullable String why) {
        return new LiteTimeoutException(
                "%s: not done within its deadline of %s: %s".formatted(target, Durations.text(deadline), why));
    }
}

package dev.lite.session.channel;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LtRpc;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcStatus;
import dev.lite.os.Futex;
import dev.lite.os.FutexWords;
import dev.lite.os.OsException;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.session.wire.WireError;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * The server's end of a channel; see the package. Any number of threads receive and reply at the same time, each with its own
 * {@link ReceivedRequest}; those that wait do so in a {@link ChannelGroup}. Another thread than the receiver may reply. A call
 * allocates nothing.
 */
public final class ChannelServer implements AutoCloseable {
    private static final int SLOT_BITS = 6;
    private static final int SLOT_MASK = (1 << SLOT_BITS) - 1;
    private static final int ERROR_BYTES_MAX = RpcCall.FAIL_BYTES_MAX + WireError.PREFIX_BYTES;
    /** The slot has no call that is to be answered. */
    private static final long NO_CALL = 0;
    /** A thread takes the slot's request, or answers its call. */
    private static final long BUSY = -1;

    private final ChannelMemory memory;
    private final ChannelArea area;
    private final String node;
    private final String principal;
    private final RequestBell bell;
    /** Null: the caller is on this host. */
    private final @Nullable ServerLink link;

    private final AtomicBoolean closed = new AtomicBoolean();
    /** By slot: the number of the call that is to be answered, or {@link #NO_CALL} or {@link #BUSY}. */
    private final AtomicLongArray calls;
    /** By slot; written while it is busy. */
    private final int[] generations;
    /** By slot, likewise: the longest reply in bytes. */
    private final int[] capacities;

    /** By slot, likewise: how many of its requests were received. */
    private final long[] sequences;

    private final ChannelCounts counts;

    /**
     * Takes over the memory; {@link #close} unmaps it.
     *
     * @param function the name of the function, for messages
     * @param node of the calling application
     * @param principal of the calling application
     * @throws IllegalArgumentException when the memory is smaller than the area; it is closed then
     */
    public ChannelServer(SharedMemory memory, ChannelArea area, String function, String node, String principal) {
        this(memory, area, function, node, principal, null, null);
    }

    /**
     * The end of a channel from another host. Takes over the memory, which only this end has, and the connection.
     *
     * @param function the name of the function, for messages
     * @param node of the calling application
     * @param principal of the calling application
     * @param watch of this application
     * @throws IllegalArgumentException when the memory is smaller than the area; all is closed then
     * @throws OsException when the system has no room for one more socket to watch; likewise
     */
    public static ChannelServer linked(
            SharedMemory memory,
            ChannelArea area,
            String function,
            String node,
            String principal,
            LinkSocket socket,
            LinkWatch watch) {
        return new ChannelServer(memory, area, function, node, principal, socket, watch);
    }

    private ChannelServer(
            SharedMemory memory,
            ChannelArea area,
            String function,
            String node,
            String principal,
            @Nullable LinkSocket socket,
            @Nullable LinkWatch watch) {
        boolean fits = false;
        try {
            this.memory = new ChannelMemory(memory, area, "%s for %s".formatted(function, principal));
            fits = true;
        } finally {
            if (!fits && socket != null) {
                socket.socket().close();
            }
        }
        this.area = area;
        this.node = node;
        this.principal = principal;
        bell = new RequestBell(this.memory.submitted(), this.memory.doorbell());
        calls = new AtomicLongArray(area.slots());
        generations = new int[area.slots()];
        capacities = new int[area.slots()];
        sequences = new long[area.slots()];
        counts = new ChannelCounts(area);
        link = socket == null || watch == null ? null : new ServerLink(this.memory, bell, socket, watch);
        if (link != null) {
            link.startTogether();
        }
    }

    /** The node of all callers of this channel. */
    public String node() {
        return node;
    }

    /** The principal of all calls of this channel. */
    public String principal() {
        return principal;
    }

    /**
     * Copies the next request, if there is one. Never blocks.
     *
     * @throws ChannelEndedException when the channel has ended
     */
    public boolean tryReceive(ReceivedRequest into) {
        requireRoom(into);
        requireEntered();
        try {
            return take(into);
        } finally {
            memory.exit();
        }
    }

    void requireRoom(ReceivedRequest into) {
        if (into.room.byteSize() < area.windowBytes()) {
            throw new IllegalArgumentException("%s: room for a request of %d bytes; the longest has %d"
                    .formatted(memory.name(), into.room.byteSize(), area.windowBytes()));
        }
    }

    /**
     * Whether a request was submitted. The thread is in the memory.
     *
     * @param amongMany whether it looks at many channels in turn
     */
    boolean hasRequest(boolean amongMany) {
        if (bell.bits() == 0 && link != null) {
            link.look(amongMany);
        }
        return bell.bits() != 0;
    }

    /** The thread that polls for virtual threads looks for requests. */
    void pollVirtually() {
        if (link != null) {
            link.pollVirtually();
        }
    }

    /** That thread looks no more. */
    void endVirtualPolls() {
        if (link != null) {
            link.endVirtualPolls();
        }
    }

    /** How many pauses a look for requests costs beyond the one for all channels. */
    int pollCost() {
        return link == null ? 0 : ChannelLink.POLL_COST;
    }

    /** Whether the channel has ended, or must end because of its doorbell. The thread is in the memory. */
    boolean isBroken() {
        return memory.isEnded() || !RequestBell.isValid(bell.value());
    }

    /**
     * Announces that the thread will sleep on the doorbell, and adds it; returns false if it may not. It is in the memory.
     *
     * @param others whether another thread looks for requests
     */
    boolean announce(FutexWords words, boolean others) {
        int expected = bell.announce(others);
        if (expected == 0 || memory.isEnded()) {
            return false;
        }
        if (link != null) {
            link.endVirtualPolls();
            if (!others) {
                link.arm();
            }
        }
        words.add(memory.doorbell(), expected);
        return true;
    }

    /** After a sleep and one request: wakes another thread if there are more. The thread is in the memory. */
    void wakeForMore() {
        if (bell.bits() != 0) {
            bell.ringAgain();
        }
    }

    /** Begins a wait, for which the memory stays mapped until {@link #exit}; returns false if it is closed. */
    boolean enter() {
        return memory.enter();
    }

    void exit() {
        memory.exit();
    }

    ChannelEndedException endedException() {
        return memory.endedException();
    }

    private void requireEntered() {
        if (!memory.enter()) {
            throw memory.endedException();
        }
    }

    /** After a sleep: ends the channel if the doorbell has no valid value. The thread is in the memory. */
    void checkDoorbell() {
        int doorbell = bell.value();
        if (!RequestBell.isValid(doorbell) && !memory.isEnded()) {
            memory.endFor("the doorbell", doorbell, "0 to " + RequestBell.AWAKE);
        }
    }

    /** Takes a request that was submitted and not cancelled. The thread is in the memory, and the request has room. */
    boolean take(ReceivedRequest into) {
        if (memory.isEnded()) {
            throw memory.endedException();
        }
        if (!hasRequest(false)) {
            return false;
        }
        // Bounded: each slot's request is taken or dropped at most once here.
        for (int count = 0; count < area.slots(); count++) {
            int slot = bell.take();
            if (slot == RequestBell.NONE) {
                return false;
            }
            if (slot >= area.slots()) {
                throw broken("the number of a submitted slot", slot, "less than " + area.slots());
            }
            if (!calls.compareAndSet(slot, NO_CALL, BUSY)) {
                throw broken("a slot with a call that is not answered was submitted again", slot, "free");
            }
            if (markTaken(slot)) {
                int word = RawMemory.getInt(memory.slot(slot) + ChannelArea.REQUEST_LENGTH);
                int length = word & ChannelArea.LENGTH_MASK;
                int contextLength = word >>> ChannelArea.CONTEXT_SHIFT;
                if (length > area.windowBytes() || contextLength > Math.min(LtRpc.CONTEXT_BYTES_MAX, length)) {
                    throw broken("the length of the request in slot " + slot, word, "0 to " + area.windowBytes());
                }
                capacities[slot] =
                        Math.clamp(RawMemory.getInt(memory.slot(slot) + ChannelArea.CAPACITY), 0, area.windowBytes());
                RawMemory.copyTo(memory.window(slot), into.room, 0, length);
                long call = ++sequences[slot] << SLOT_BITS | slot;
                into.set(this, call, length, contextLength);
                calls.setRelease(slot, call);
                if (link != null) { // there is no caller on this host that would ring again
                    wakeForMore();
                }
                return true;
            }
        }
        return false;
    }

    /** Changes a slot's word from PENDING to TAKEN; returns false if the request was cancelled, and drops it. */
    private boolean markTaken(int slot) {
        long word = memory.word(slot);
        int seen = 0;
        for (int tries = 0; tries < ChannelMemory.TRIES_MAX; tries++) {
            seen = RawMemory.getIntVolatile(word);
            int state = SlotWord.state(seen);
            if (SlotWord.has(seen, SlotWord.ENDED) && memory.isEnded()) {
                throw memory.endedException();
            }
            if (SlotWord.has(seen, SlotWord.ENDED) || (state != SlotWord.PENDING && state != SlotWord.CANCELLED)) {
                break;
            }
            if (state == SlotWord.PENDING
                    && RawMemory.compareAndSetInt(word, seen, SlotWord.with(seen, SlotWord.TAKEN))) {
                generations[slot] = SlotWord.generation(seen);
                return true;
            }
            if (state == SlotWord.CANCELLED) {
                calls.set(slot, NO_CALL);
                RawMemory.compareAndSetInt(word, seen, SlotWord.with(seen, SlotWord.DONE));
                if (link != null) {
                    link.dropped(slot);
                }
                return false;
            }
        }
        throw broken("the word of the submitted slot " + slot, seen, "pending or cancelled");
    }

    private ChannelEndedException broken(String what, long value, String limit) {
        memory.endFor(what, value, limit);
        return memory.endedException();
    }

    /**
     * Answers a call. If its caller has stopped waiting, the reply is dropped.
     *
     * @param call see {@link ReceivedRequest#call}
     * @param reply used only during this method
     * @throws LimitExceededException when the reply is longer than a window, or than the caller takes; the call may still be answered
     * @throws IllegalStateException when the call was answered already
     * @throws ChannelEndedException when the channel has ended
     */
    public void reply(long call, MemorySegment reply) {
        answer(call, 0, reply);
    }

    /**
     * Answers a call with an error.
     *
     * @param call see {@link ReceivedRequest#call}
     * @param message cut to {@link RpcCall#FAIL_BYTES_MAX} bytes, and to the size of a window
     * @throws IllegalStateException when the call was answered already
     * @throws ChannelEndedException when the channel has ended
     */
    public void fail(long call, RpcStatus status, int handlerCode, String message) {
        byte[] error = WireError.bytes(status, handlerCode, message, Math.min(ERROR_BYTES_MAX, area.windowBytes()));
        answer(call, LiteException.Code.RPC_FAILED.number(), MemorySegment.ofArray(error));
    }

    private void answer(long call, int status, MemorySegment reply) {
        long length = reply.byteSize();
        if (length > area.windowBytes()) {
            throw new LimitExceededException(
                    "%s: the reply has %d bytes; the limit is %d".formatted(memory.name(), length, area.windowBytes()));
        }
        int slot = (int) call & SLOT_MASK;
        if (call <= 0 || slot >= area.slots() || !calls.compareAndSet(slot, call, BUSY)) {
            throw new IllegalStateException(
                    "%s: call %d is not to be answered, or was answered already".formatted(memory.name(), call));
        }
        if (!memory.enter()) {
            calls.set(slot, call);
            throw memory.endedException();
        }
        try {
            copyReply(slot, call, status == 0 ? capacities[slot] : area.windowBytes(), reply);
            counts.add(slot, status == 0 ? length : 0);
            RawMemory.putInt(memory.slot(slot) + ChannelArea.STATUS, status);
            RawMemory.putInt(memory.slot(slot) + ChannelArea.REPLY_LENGTH, (int) length);
            long word = memory.word(slot);
            int done = SlotWord.of(generations[slot], SlotWord.DONE);
            // First free, then done: the caller may submit the slot at once.
            calls.setRelease(slot, NO_CALL);
            if (SlotWord.has(RawMemory.getAndSetInt(word, done), SlotWord.SLEEPING)) {
                int unused = Futex.wake(word, Integer.MAX_VALUE); // see StartedHere.announce
            }
            if (link != null) {
                link.reply(slot);
            }
        } finally {
            memory.exit();
        }
    }

    /** Copies a reply into the window. If that is not possible, the call is still to be answered. */
    private void copyReply(int slot, long call, int capacity, MemorySegment reply) {
        try {
            if (memory.isEnded()) {
                throw memory.endedException();
            }
            if (reply.byteSize() > capacity) {
                throw new LimitExceededException("%s: the reply has %d bytes; the caller takes at most %d"
                        .formatted(memory.name(), reply.byteSize(), capacity));
            }
            RawMemory.copyFrom(reply, 0, memory.window(slot), reply.byteSize());
        } catch (RuntimeException | Error e) { // also of a closed segment, or a file that was truncated
            calls.set(slot, call);
            throw e;
        }
    }

    /** The answers; the bytes are those of replies. */
    public ChannelCounts counts() {
        return counts;
    }

    /** Whether a call was received and not answered, and its caller has not stopped waiting; false after the end. */
    public boolean isAwaited() {
        if (!memory.enter()) {
            return false;
        }
        try {
            boolean some = false;
            for (int slot = 0; slot < area.slots() && !some; slot++) {
                some = calls.get(slot) != NO_CALL
                        && SlotWord.state(RawMemory.getIntVolatile(memory.word(slot))) != SlotWord.CANCELLED;
            }
            return some && !memory.isEnded();
        } finally {
            memory.exit();
        }
    }

    /** Whether the channel has ended. */
    public boolean isEnded() {
        return memory.hasEnded();
    }

    /** Ends the channel for both ends: receives and calls under way fail. Idempotent; the first reason counts. */
    public void end(String reason) {
        if (memory.enter()) {
            try {
                memory.end(reason);
            } finally {
                memory.exit();
            }
        }
    }

    /** Ends the channel, waits until no thread is in its memory, and unmaps it. Idempotent. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            end("the server's end was closed");
            memory.close();
        }
    }
}

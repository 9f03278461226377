package dev.lite.fabric.tcp;

import dev.lite.os.RawMemory;
import dev.lite.os.wire.Wire;
import dev.lite.os.wire.WireException;
import java.lang.foreign.Arena;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The receiving half of a lane: parses frames, executes the peer's operations, and completes this node's operations.
 *
 * <p>The poll role runs one {@link #step} at a time, so that no handler runs under the lock that {@link #close} waits
 * for. A header is checked first. A payload that fits into the buffer is copied to its destination once it is complete,
 * so that no reader sees half of an 8-byte word. The rest of a longer payload is received directly at its destination.
 */
final class Inbound {
    /** The result of a step. */
    enum Step {
        /** Nothing is left to do. */
        IDLE,
        /** Work was done that needs no call of the handler. */
        PROGRESS,
        /** An operation ended whose frame another thread is still sending: to be repeated. */
        LATER,
        /** An operation completed: {@link #context}. */
        COMPLETED,
        /** An operation was refused: {@link #context}. */
        REFUSED,
        /** An immediate arrived: {@link #immediate}. */
        IMMEDIATE
    }

    static final int BUFFER_BYTES = 16 << 10;
    /** A change of memory is executed only if no reset was seen in the last so many nanoseconds; a close waits longer after its reset. */
    static final long LOOK_NS = TimeUnit.MILLISECONDS.toNanos(5);
    /** Longest payload that is copied to its destination as a whole. */
    private static final int WHOLE_MAX = BUFFER_BYTES - Frame.HEADER_BYTES - Frame.ALIGNMENT;

    private final ReentrantLock lock = new ReentrantLock();
    private final Wire wire;
    private final Outbound outbound;
    private final Operations operations;
    private final Memory memory;
    private final long buffer;

    // Guarded by the lock.
    private boolean closed;
    /** Why a step failed. A frame may be half executed since, so none may follow. */
    private @Nullable Throwable failure;

    /** Start of the buffer's content; a multiple of 8 where a frame begins. */
    private int position;

    private int limit;

    /** Whether the acknowledgement in the frame at the position was handled. */
    private boolean counted;

    /** Number of this node's operations that the peer acknowledged. */
    private int acknowledged;

    /** Missing bytes of a long payload; they go to {@link #payloadAddress}, or are dropped if that is 0. */
    private long payloadLeft;

    private long payloadAddress;
    private int paddingLeft;
    private int payloadKind;
    private int payloadNumber;
    private boolean payloadRefused;

    private boolean promptly;
    private boolean pinged;
    private long received;
    /** Whether the last receive emptied the socket and no step has returned {@link Step#IDLE} since. */
    private boolean drained;

    /** When this last checked for a reset. */
    private long lookedNs = System.nanoTime();

    private long context;
    private int immediate;

    Inbound(Wire wire, Outbound outbound, Memory memory, Arena arena) {
        this.wire = wire;
        this.outbound = outbound;
        operations = outbound.operations;
        this.memory = memory;
        buffer = arena.allocate(BUFFER_BYTES, Frame.ALIGNMENT).address();
    }

    /** The context of the operation that a step completed or refused. */
    long context() {
        return context;
    }

    /** The immediate that a step received. */
    int immediate() {
        return immediate;
    }

    /** Total bytes received. Poll role. */
    long received() {
        return received;
    }

    /** {@link Wire#records}. Poll role. */
    long records() {
        return wire.records();
    }

    /** Whether an operation since the last call needs a prompt acknowledgement. Poll role. */
    boolean takePromptly() {
        boolean was = promptly;
        promptly = false;
        return was;
    }

    /** Whether the peer sent a ping since the last call. Poll role. */
    boolean takePinged() {
        boolean was = pinged;
        pinged = false;
        return was;
    }

    /** Drops all further input; returns when no step is running. Any thread, outside of steps. */
    void close() {
        lock.lock();
        try {
            closed = true;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Does one step of work. Poll role.
     *
     * @throws WireException if the peer violates the protocol or ended the connection
     * @throws dev.lite.os.OsException if the connection broke
     */
    Step step() {
        lock.lock();
        try {
            if (closed) {
                return Step.IDLE;
            }
            if (failure != null) {
                throw new WireException("executing a frame failed: " + failure, failure);
            }
            return next();
        } catch (RuntimeException | Error e) {
            failure = e;
            throw e;
        } finally {
            lock.unlock();
        }
    }

    private Step next() {
        if (acknowledged != operations.ended()) {
            return endAcknowledged();
        }
        if (payloadLeft > 0 || paddingLeft > 0) {
            return continuePayload();
        }
        if (limit - position < Frame.HEADER_BYTES) {
            return fill(Frame.HEADER_BYTES);
        }
        return frame(buffer + position);
    }

    private Step endAcknowledged() {
        int kind = operations.oldestKind();
        if (kind != Frame.WRITE && kind != Frame.WRITE_IMM) {
            throw new WireException("it acknowledged operation %d of kind %d, which requires an answer"
                    .formatted(operations.ended(), kind));
        }
        if (!isSent(kind)) {
            return Step.LATER;
        }
        context = operations.end();
        return Step.COMPLETED;
    }

    /** Whether the oldest operation, of this kind, may end: its poster then uses the payload's memory for something else. */
    private boolean isSent(int kind) {
        boolean fromItsPlace = Frame.payload(kind, operations.oldestLength()) > Outbound.INLINE_MAX;
        return !fromItsPlace || outbound.isSent(operations.ended());
    }

    /** Receives until the buffer has this many bytes, or no more are available. */
    private Step fill(int wanted) {
        if (position == limit) {
            position = 0;
            limit = 0;
        } else if (position + wanted > BUFFER_BYTES) {
            RawMemory.copy(buffer + position, buffer, limit - position);
            limit -= position;
            position = 0;
        }
        if (drained) {
            // Bytes that arrived since wait for the next turn: another receive would mostly be a miss and delay
            // waiters whose operations are already done.
            drained = false;
            return Step.IDLE;
        }
        long got = receive(buffer + limit, BUFFER_BYTES - limit);
        if (got == Wire.END) {
            throw new WireException(
                    position == limit ? "it closed the connection, or ended" : "it ended in the middle of a frame");
        }
        limit += (int) got;
        received += got;
        drained = got > 0 && wire.isDrained();
        return got == 0 ? Step.IDLE : Step.PROGRESS;
    }

    /** The answers to what was received go first: the peer waits for them. */
    private long receive(long address, long length) {
        outbound.sendAnswers();
        return wire.receive(address, length);
    }

    private Step frame(long header) {
        if (!counted) {
            var objection = Frame.objection(header);
            if (objection != null) {
                throw new WireException(objection);
            }
            int peerDone = Frame.acknowledged(header);
            if (!operations.isPossible(peerDone)) {
                throw new WireException("it acknowledged operation %d, which is not outstanding".formatted(peerDone));
            }
            acknowledged = peerDone;
            counted = true;
            if (acknowledged != operations.ended()) {
                return Step.PROGRESS;
            }
        }
        int kind = Frame.kind(header);
        int length = Frame.length(header);
        int payload = Frame.payload(kind, length);
        int padded = payload + Frame.padding(payload);
        if (payload <= WHOLE_MAX && limit - position - Frame.HEADER_BYTES < padded) {
            return fill(Frame.HEADER_BYTES + padded);
        }
        requireExpected(kind, length, Frame.number(header));
        if (kind == Frame.REFUSED && !isSent(operations.oldestKind())) {
            return Step.LATER;
        }
        counted = false;
        position += Frame.HEADER_BYTES;
        return switch (kind) {
            case Frame.WRITE, Frame.WRITE_IMM, Frame.DATA -> beginPayload(header, kind, payload);
            case Frame.READ -> read(Frame.offset(header), length);
            case Frame.FETCH_ADD, Frame.COMPARE_AND_SWAP -> atomic(header, kind);
            case Frame.RESULT -> {
                RawMemory.putLong(operations.oldestLocal(), Frame.first(header));
                yield end(Step.COMPLETED);
            }
            case Frame.REFUSED -> end(Step.REFUSED);
            case Frame.PING -> {
                pinged = true;
                yield Step.PROGRESS;
            }
            default -> Step.PROGRESS;
        };
    }

    /** An answer must match the oldest operation and its kind. */
    private void requireExpected(int kind, int length, int number) {
        if (kind != Frame.DATA && kind != Frame.RESULT && kind != Frame.REFUSED) {
            return;
        }
        int asked = !operations.isEmpty() && number == operations.ended() ? operations.oldestKind() : 0;
        boolean fits = switch (kind) {
            case Frame.DATA -> asked == Frame.READ && length == operations.oldestLength();
            case Frame.RESULT -> asked == Frame.FETCH_ADD || asked == Frame.COMPARE_AND_SWAP;
            default -> asked != 0;
        };
        if (!fits) {
            throw new WireException(
                    "it answered operation %d by a frame of kind %d with %d bytes, which does not match the operation"
                            .formatted(number, kind, length));
        }
    }

    private Step end(Step how) {
        context = operations.end();
        acknowledged = operations.ended();
        return how;
    }

    private Step read(long offset, int length) {
        if (memory.has(offset, length)) {
            requireRoom(outbound.answer(Frame.DATA, length, 0, memory.address() + offset));
        } else {
            refuse();
        }
        return Step.PROGRESS;
    }

    private Step atomic(long header, int kind) {
        long offset = Frame.offset(header);
        if (!memory.hasWord(offset)) {
            refuse();
            return Step.PROGRESS;
        }
        requireNoReset();
        long word = memory.address() + offset;
        long before = kind == Frame.FETCH_ADD
                ? RawMemory.getAndAddLong(word, Frame.first(header))
                : RawMemory.compareAndExchangeLong(word, Frame.first(header), Frame.second(header));
        requireRoom(outbound.answer(Frame.RESULT, 0, before, 0));
        return Step.PROGRESS;
    }

    /**
     * Before a change of memory. A peer that closed the connection may have stopped waiting and reset it, because this
     * thread did not run for long, or has much to do. The peer relies on it that nothing is executed after that.
     */
    private void requireNoReset() {
        long now = System.nanoTime();
        if (now - lookedNs > LOOK_NS) {
            if (wire.isReset()) {
                throw new WireException("it reset the connection");
            }
            lookedNs = now;
        }
    }

    private void refuse() {
        requireRoom(outbound.answer(Frame.REFUSED, 0, 0, 0));
    }

    private static void requireRoom(boolean answered) {
        if (!answered) {
            throw new WireException("it asked for more than %d operations at once".formatted(Operations.MAX));
        }
    }

    /** Begins to receive the payload after its header was consumed. */
    private Step beginPayload(long header, int kind, int payload) {
        payloadKind = kind;
        payloadNumber = Frame.number(header);
        if (kind == Frame.DATA) {
            payloadRefused = false;
            payloadAddress = operations.oldestLocal();
        } else {
            requireNoReset();
            payloadRefused = !memory.has(Frame.offset(header), payload);
            payloadAddress = payloadRefused ? 0 : memory.address() + Frame.offset(header);
        }
        payloadLeft = payload;
        paddingLeft = Frame.padding(payload);
        return payloadLeft == 0 ? endPayload() : continuePayload();
    }

    private Step continuePayload() {
        if (payloadLeft > 0) {
            if (position == limit) {
                return receivePayload();
            }
            int there = (int) Math.min(payloadLeft, limit - position);
            if (!payloadRefused) {
                RawMemory.copy(buffer + position, payloadAddress, there);
            }
            position += there;
            payloadTaken(there);
            if (payloadLeft > 0) {
                return Step.PROGRESS;
            }
        }
        int there = Math.min(paddingLeft, limit - position);
        position += there;
        paddingLeft -= there;
        if (paddingLeft > 0) {
            return fillPadding();
        }
        return endPayload();
    }

    /** Receives a payload directly at its destination. */
    private Step receivePayload() {
        long address = payloadRefused ? buffer : payloadAddress;
        long wanted = payloadRefused ? Math.min(payloadLeft, BUFFER_BYTES) : payloadLeft;
        drained = false;
        requireNoReset();
        long got = receive(address, wanted);
        if (got == Wire.END) {
            throw new WireException("it ended in the middle of a frame");
        }
        if (got == 0) {
            return Step.IDLE;
        }
        received += got;
        payloadTaken(got);
        return payloadLeft == 0 && paddingLeft == 0 ? endPayload() : Step.PROGRESS;
    }

    private Step fillPadding() {
        if (position == limit) {
            // Keeps the start of the next frame at a multiple of 8.
            position = Frame.ALIGNMENT - paddingLeft;
            limit = position;
        }
        drained = false; // the wire may keep more than there is room for
        long got = receive(buffer + limit, BUFFER_BYTES - limit);
        if (got == Wire.END) {
            throw new WireException("it ended in the middle of a frame");
        }
        limit += (int) got;
        received += got;
        return got == 0 ? Step.IDLE : Step.PROGRESS;
    }

    private void payloadTaken(long bytes) {
        payloadAddress += payloadRefused ? 0 : bytes;
        payloadLeft -= bytes;
    }

    private Step endPayload() {
        if (payloadKind == Frame.DATA) {
            return end(Step.COMPLETED);
        }
        if (payloadRefused) {
            refuse();
            return Step.PROGRESS;
        }
        outbound.countDone();
        if (payloadKind == Frame.WRITE_IMM) {
            immediate = payloadNumber;
            return Step.IMMEDIATE;
        }
        promptly = true;
        return Step.PROGRESS;
    }
}

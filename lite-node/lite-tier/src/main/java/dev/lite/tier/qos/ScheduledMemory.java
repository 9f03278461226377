package dev.lite.tier.qos;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.Priority;
import dev.lite.os.waiting.Deadline;
import dev.lite.session.async.PollingHelp;
import dev.lite.tier.Access;
import dev.lite.tier.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The transfers of one session and priority, each through the {@link LinkWindow} of its node. A long transfer goes in pieces,
 * so that others go between. Any thread.
 */
final class ScheduledMemory implements RemoteMemory {
    private final RemoteMemory memory;
    private final IntFunction<LinkWindow> windows;
    private final Object application;
    private final Priority priority;

    /** @param windows by the node's id */
    ScheduledMemory(RemoteMemory memory, IntFunction<LinkWindow> windows, Object application, Priority priority) {
        this.memory = memory;
        this.windows = windows;
        this.application = application;
        this.priority = priority;
    }

    /** One piece of a transfer. */
    private interface Piece {
        void transfer(long done, long bytes);
    }

    private void inPieces(int node, long length, Deadline deadline, Piece piece) {
        LinkWindow window = windows.apply(node);
        long done = 0;
        do {
            long bytes = Math.min(window.pieceBytes(), length - done);
            long cost = Flow.cost(bytes);
            enter(window, cost, deadline);
            try {
                piece.transfer(done, bytes);
            } finally {
                window.leave(priority, cost);
            }
            done += bytes;
        } while (done < length);
    }

    private void enter(LinkWindow window, long cost, Deadline deadline) {
        if (window.enter(application, priority, cost, deadline)) {
            return;
        }
        if (Thread.currentThread().isInterrupted()) {
            throw new LmrUnavailableException("interrupted before a transfer of %s priority".formatted(priority));
        }
        throw new LiteTimeoutException(
                deadline.expired("a transfer of %s priority, which waited for others".formatted(priority)));
    }

    @Override
    public void read(
            int node, UUID arena, long offset, MemorySegment local, long localOffset, long length, Deadline deadline) {
        inPieces(
                node,
                length,
                deadline,
                (done, bytes) -> memory.read(node, arena, offset + done, local, localOffset + done, bytes, deadline));
    }

    @Override
    public void write(
            int node,
            UUID arena,
            long offset,
            MemorySegment local,
            long localOffset,
            long length,
            @Nullable Supplier<@Nullable String> notWanted,
            Deadline deadline) {
        inPieces(
                node,
                length,
                deadline,
                (done, bytes) -> memory.write(
                        node, arena, offset + done, local, localOffset + done, bytes, notWanted, deadline));
    }

    @Override
    public boolean tryStart(
            int node,
            UUID arena,
            Access access,
            Deadline deadline,
            boolean soon,
            Consumer<@Nullable RuntimeException> ended) {
        LinkWindow window = windows.apply(node);
        long cost = Flow.cost(access.length());
        if (!window.tryEnter(application, priority, cost)) {
            return false;
        }
        boolean begun = false;
        try {
            begun = memory.tryStart(node, arena, access, deadline, soon, (@Nullable RuntimeException failure) -> {
                window.leave(priority, cost);
                ended.accept(failure);
            });
            return begun;
        } finally {
            if (!begun) {
                window.leave(priority, cost);
            }
        }
    }

    @Override
    public boolean mayWait(int node) {
        return memory.mayWait(node) || windows.apply(node).isFull(priority);
    }

    @Override
    public PollingHelp polling() {
        return memory.polling();
    }

    @Override
    public long fetchAdd(int node, UUID arena, long offset, long delta, Deadline deadline) {
        long[] before = new long[1];
        inPieces(
                node,
                Long.BYTES,
                deadline,
                (done, bytes) -> before[0] = memory.fetchAdd(node, arena, offset, delta, deadline));
        return before[0];
    }

    @Override
    public long testSet(int node, UUID arena, long offset, long expected, long value, Deadline deadline) {
        long[] before = new long[1];
        inPieces(
                node,
                Long.BYTES,
                deadline,
                (done, bytes) -> before[0] = memory.testSet(node, arena, offset, expected, value, deadline));
        return before[0];
    }

    @Override
    public boolean awaitGivenUp(Deadline deadline) {
        return memory.awaitGivenUp(deadline);
    }
}

package dev.lite.tier.onesided;

import dev.lite.os.waiting.Deadline;
import dev.lite.tier.peer.Peer;
import java.lang.foreign.MemorySegment;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** An asynchronous transfer in flight. */
final class PendingTransfer {
    /** The peer that it was posted to. */
    final Peer peer;

    final UUID arena;
    final long offset;
    final MemorySegment local;
    final Operation operation;
    final Deadline deadline;
    final Consumer<@Nullable RuntimeException> ended;

    private final AtomicBoolean claimed = new AtomicBoolean();

    PendingTransfer(
            Peer peer,
            UUID arena,
            long offset,
            MemorySegment local,
            Operation operation,
            Deadline deadline,
            Consumer<@Nullable RuntimeException> ended) {
        this.peer = peer;
        this.arena = arena;
        this.offset = offset;
        this.local = local;
        this.operation = operation;
        this.deadline = deadline;
        this.ended = ended;
    }

    /** Whether it is posted again if its connection breaks. Nobody knows then whether an atomic operation was executed. */
    boolean isRepeatable() {
        return operation == Operation.READ || operation == Operation.WRITE;
    }

    /** Claims the right to report its end; true only for the first caller. */
    boolean claim() {
        return claimed.compareAndSet(false, true);
    }

    boolean isClaimed() {
        return claimed.get();
    }
}

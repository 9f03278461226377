package dev.lite.tier.onesided;

import dev.lite.tier.Deadline;
import dev.lite.tier.peer.Peer;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** An operation that nobody waits for. */
final class Begun {
    final UUID arena;
    final long offset;
    final MemorySegment local;
    final long localOffset;
    final long length;
    final Operation operation;
    final Deadline deadline;
    final Consumer<@Nullable RuntimeException> ended;

    /** To whom it was posted; set before it is. */
    @Nullable
    Peer peer;

    private final AtomicBoolean claimed = new AtomicBoolean();

    Begun(
            UUID arena,
            long offset,
            MemorySegment local,
            long localOffset,
            long length,
            Operation operation,
            Deadline deadline,
            Consumer<@Nullable RuntimeException> ended) {
        this.arena = arena;
        this.offset = offset;
        this.local = local;
        this.localOffset = localOffset;
        this.length = length;
        this.operation = operation;
        this.deadline = deadline;
        this.ended = ended;
    }

    Peer peer() {
        return Objects.requireNonNull(peer, "not posted");
    }

    /** Whether the caller is the first, and so the one who tells how it ended. */
    boolean claim() {
        return claimed.compareAndSet(false, true);
    }

    boolean isClaimed() {
        return claimed.get();
    }
}

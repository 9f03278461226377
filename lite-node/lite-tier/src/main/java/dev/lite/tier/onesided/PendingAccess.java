package dev.lite.tier.onesided;

import dev.lite.os.waiting.Deadline;
import dev.lite.tier.Access;
import dev.lite.tier.Operation;
import dev.lite.tier.peer.Peer;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** An access in flight that no thread waits for. */
final class PendingAccess {
    /** The peer that it was posted to. */
    final Peer peer;

    final UUID arena;
    final Access access;
    final Deadline deadline;
    final Consumer<@Nullable RuntimeException> ended;

    private final AtomicBoolean claimed = new AtomicBoolean();

    PendingAccess(Peer peer, UUID arena, Access access, Deadline deadline, Consumer<@Nullable RuntimeException> ended) {
        this.peer = peer;
        this.arena = arena;
        this.access = access;
        this.deadline = deadline;
        this.ended = ended;
    }

    Operation operation() {
        return access.operation();
    }

    /** Whether it is posted again if its connection breaks. Nobody knows then whether an atomic operation was executed. */
    boolean isRepeatable() {
        return !operation().isAtomic();
    }

    /** Claims the right to report its end; true only for the first caller. */
    boolean claim() {
        return claimed.compareAndSet(false, true);
    }

    boolean isClaimed() {
        return claimed.get();
    }
}

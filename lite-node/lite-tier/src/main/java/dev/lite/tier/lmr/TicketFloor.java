package dev.lite.tier.lmr;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.VersionedRecord;
import dev.lite.os.waiting.Deadline;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * The smallest ticket that a new lock may begin with: one number in the directory for all locks. It only grows. Any
 * thread; blocks up to the deadline.
 */
final class TicketFloor {
    static final String NAME = ClusterDirectory.INTERNAL_PREFIX + "tickets/floor";
    private static final long FIRST = 1;

    private final ClusterDirectory directory;

    TicketFloor(ClusterDirectory directory) {
        this.directory = directory;
    }

    long read(Deadline deadline) {
        return of(directory.read(NAME, deadline.remaining()));
    }

    private static long of(Optional<VersionedRecord> found) {
        return found.map(record -> ByteBuffer.wrap(record.bytes()).getLong()).orElse(FIRST);
    }

    /** Makes the floor at least this ticket. */
    void raise(long ticket, Deadline deadline) {
        while (true) {
            Optional<VersionedRecord> found = directory.read(NAME, deadline.remaining());
            if (of(found) >= ticket) {
                return;
            }
            byte[] next = ByteBuffer.allocate(Long.BYTES).putLong(ticket).array();
            boolean raised = found.isPresent()
                    ? directory
                            .compareAndSet(NAME, found.get().version(), next, deadline.remaining())
                            .isPresent()
                    : directory.create(NAME, next, deadline.remaining());
            if (raised) {
                return;
            }
            if (deadline.passed()) {
                throw new ClusterUnavailableException(deadline.expired("raising the ticket floor to " + ticket));
            }
        }
    }
}

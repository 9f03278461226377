package dev.lite.tier.lmr;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.VersionedRecord;
import dev.lite.os.waiting.Deadline;
import java.nio.ByteBuffer;
import java.util.Optional;

/** A number in the directory that only grows. Any thread; blocks up to the deadline. */
final class GrowingNumber {
    private final ClusterDirectory directory;
    private final String record;
    private final long first;

    /**
     * @param name of its record, without the prefix of LITE's own records
     * @param first its value before it is raised
     */
    GrowingNumber(ClusterDirectory directory, String name, long first) {
        this.directory = directory;
        this.record = ClusterDirectory.INTERNAL_PREFIX + name;
        this.first = first;
    }

    long read(Deadline deadline) {
        return of(directory.read(record, deadline.remaining()));
    }

    private long of(Optional<VersionedRecord> found) {
        return found.map(number -> ByteBuffer.wrap(number.bytes()).getLong()).orElse(first);
    }

    /** Makes the number at least this one. */
    void raise(long least, Deadline deadline) {
        while (true) {
            Optional<VersionedRecord> found = directory.read(record, deadline.remaining());
            if (of(found) >= least) {
                return;
            }
            byte[] next = ByteBuffer.allocate(Long.BYTES).putLong(least).array();
            boolean raised = found.isPresent()
                    ? directory
                            .compareAndSet(record, found.get().version(), next, deadline.remaining())
                            .isPresent()
                    : directory.create(record, next, deadline.remaining());
            if (raised) {
                return;
            }
            if (deadline.passed()) {
                throw new ClusterUnavailableException(
                        deadline.expired("raising \"%s\" to %d".formatted(record.substring(1), least)));
            }
        }
    }
}

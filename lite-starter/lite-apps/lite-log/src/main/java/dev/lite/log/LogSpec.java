package dev.lite.log;

import dev.lite.api.Permission;
import dev.lite.api.Placement;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;

/**
 * Describes the log that {@link LiteLogs#create} makes. The settings are stored in the log, so all processes use the same. Start with
 * {@link #defaults}; every {@code with} method returns a changed copy. Immutable.
 *
 * @param segmentBytes the size of a segment in bytes, {@value #SEGMENT_BYTES_MIN} to {@value #SEGMENT_BYTES_MAX}; a multiple of 64
 * @param transactionBytesTypical the bytes of a typical transaction, at least 1: decides how many slots a segment has. Each entry of
 *     a transaction counts with its bytes and 8 more
 * @param retentionBytes the cleaner keeps at least this many bytes of segments, and the newest segment in any case
 * @param boundBytes the cleaner removes what is beyond this, even if a consumer needs it; 0 for no bound
 * @param holeTimeout how long a reader waits for a transaction that was begun and not committed, unless its writer is proven to have
 *     ended
 * @param placement which nodes store the log; if a named node is not there, segments go to the others
 * @param defaultPermissions the permissions of principals other than the creator's. Readers need READ, writers and consumers also
 *     WRITE and ATOMIC. Only a master of a segment can clean it: the principal of the writer that made it
 */
public record LogSpec(
        long segmentBytes,
        int transactionBytesTypical,
        long retentionBytes,
        long boundBytes,
        Duration holeTimeout,
        Placement placement,
        Set<Permission> defaultPermissions) {

    /** The smallest segment. */
    public static final long SEGMENT_BYTES_MIN = 4096;

    /** The largest segment. */
    public static final long SEGMENT_BYTES_MAX = 1L << 30;

    private static final Duration HOLE_TIMEOUT_MAX = Duration.ofDays(1);

    /**
     * Checks the values.
     *
     * @throws IllegalArgumentException if a value is outside of its limits
     */
    public LogSpec {
        if (segmentBytes < SEGMENT_BYTES_MIN || segmentBytes > SEGMENT_BYTES_MAX || segmentBytes % 64 != 0) {
            throw new IllegalArgumentException(
                    "the size of a segment is %d bytes; it must be a multiple of 64 from %d to %d"
                            .formatted(segmentBytes, SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX));
        }
        if (transactionBytesTypical < 1) {
            throw new IllegalArgumentException(
                    "a typical transaction has %d bytes; it must have at least 1".formatted(transactionBytesTypical));
        }
        if (retentionBytes < 0) {
            throw new IllegalArgumentException(
                    "the log is to retain %d bytes; it must be at least 0".formatted(retentionBytes));
        }
        if (boundBytes != 0 && boundBytes < segmentBytes) {
            throw new IllegalArgumentException(
                    "the bound of the log is %d bytes; it must be 0 or at least a segment, %d bytes"
                            .formatted(boundBytes, segmentBytes));
        }
        Objects.requireNonNull(holeTimeout, "holeTimeout");
        if (!holeTimeout.isPositive() || holeTimeout.compareTo(HOLE_TIMEOUT_MAX) > 0) {
            throw new IllegalArgumentException("the timeout of holes is %s; it must be positive and at most %s"
                    .formatted(holeTimeout, HOLE_TIMEOUT_MAX));
        }
        Objects.requireNonNull(placement, "placement");
        Placements.toText(placement);
        Objects.requireNonNull(defaultPermissions, "defaultPermissions")
                .forEach(permission -> Objects.requireNonNull(permission, "defaultPermissions"));
        if (defaultPermissions.contains(Permission.MASTER)) {
            throw new IllegalArgumentException("the default permissions contain MASTER, which is granted by name only");
        }
        defaultPermissions = Set.copyOf(defaultPermissions);
    }

    /**
     * Segments of 4 MiB for transactions of about 64 bytes, 16 MiB retained, no bound, a timeout of 1 s for holes, round-robin placement,
     * no permissions for other principals.
     */
    public static LogSpec defaults() {
        return new LogSpec(
                4L << 20,
                64,
                16L << 20,
                0,
                Duration.ofSeconds(1),
                Placement.roundRobin(),
                EnumSet.noneOf(Permission.class));
    }

    /** With segments of this size. */
    public LogSpec withSegmentBytes(long newSegmentBytes) {
        return new LogSpec(
                newSegmentBytes,
                transactionBytesTypical,
                retentionBytes,
                boundBytes,
                holeTimeout,
                placement,
                defaultPermissions);
    }

    /** With transactions of about this size. */
    public LogSpec withTransactionBytesTypical(int newTransactionBytesTypical) {
        return new LogSpec(
                segmentBytes,
                newTransactionBytesTypical,
                retentionBytes,
                boundBytes,
                holeTimeout,
                placement,
                defaultPermissions);
    }

    /** With this retention. */
    public LogSpec withRetentionBytes(long newRetentionBytes) {
        return new LogSpec(
                segmentBytes,
                transactionBytesTypical,
                newRetentionBytes,
                boundBytes,
                holeTimeout,
                placement,
                defaultPermissions);
    }

    /** With this bound; 0 for none. */
    public LogSpec withBoundBytes(long newBoundBytes) {
        return new LogSpec(
                segmentBytes,
                transactionBytesTypical,
                retentionBytes,
                newBoundBytes,
                holeTimeout,
                placement,
                defaultPermissions);
    }

    /** With this timeout of holes. */
    public LogSpec withHoleTimeout(Duration newHoleTimeout) {
        return new LogSpec(
                segmentBytes,
                transactionBytesTypical,
                retentionBytes,
                boundBytes,
                newHoleTimeout,
                placement,
                defaultPermissions);
    }

    /** With this placement. */
    public LogSpec withPlacement(Placement newPlacement) {
        return new LogSpec(
                segmentBytes,
                transactionBytesTypical,
                retentionBytes,
                boundBytes,
                holeTimeout,
                newPlacement,
                defaultPermissions);
    }

    /** With these permissions for principals other than the creator's. */
    public LogSpec withDefaultPermissions(Permission... permissions) {
        EnumSet<Permission> set = EnumSet.noneOf(Permission.class);
        for (Permission permission : Arrays.asList(Objects.requireNonNull(permissions, "permissions"))) {
            set.add(Objects.requireNonNull(permission, "permissions"));
        }
        return new LogSpec(
                segmentBytes, transactionBytesTypical, retentionBytes, boundBytes, holeTimeout, placement, set);
    }
}

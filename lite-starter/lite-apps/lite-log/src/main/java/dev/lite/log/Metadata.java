package dev.lite.log;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** The metadata LMR of a log; see {@code docs/log.md}. Any thread. */
final class Metadata {
    static final long CONSUMERS_AT = 4096;
    static final long WRITERS_AT = CONSUMERS_AT + Consumers.BYTES;
    static final int BYTES = 4096 + Consumers.BYTES + Writers.BYTES;

    static final long STATE_NEW = 0;
    static final long STATE_READY = 1;
    static final long STATE_DELETED = 2;

    /** "LITE-Log" and the version of the layout. */
    private static final long MAGIC = 0x4C4954454C4F4702L;

    private static final long MAGIC_AT = 0;
    private static final long STATE_AT = 8;
    private static final long SEGMENT_BYTES_AT = 16;
    private static final long TYPICAL_AT = 24;
    private static final long RETENTION_AT = 32;
    private static final long BOUND_AT = 40;
    private static final long HOLE_TIMEOUT_AT = 48;
    private static final long PERMISSIONS_AT = 56;
    private static final long PLACEMENT_LENGTH_AT = 64;
    private static final long PLACEMENT_AT = 72;
    // Each in cache lines of its own.
    private static final long FIRST_AT = 2048;
    private static final long LAST_AT = 2176;
    private static final long SEAL_BELOW_AT = 2304;
    private static final long FREED_BELOW_AT = 2432;

    final String log;
    final LmrHandle handle;

    Metadata(String log, LmrHandle handle) {
        this.log = log;
        this.handle = handle;
    }

    static String name(String log) {
        return log + ".log";
    }

    /**
     * Has the id of the metadata: the segments of a deleted log may not be free yet when a log of the same name is created. Formatted
     * without a locale: some write numbers with other digits, and all processes must use the same names.
     */
    String segmentName(long number) {
        return name(log) + "/" + Long.toHexString(handle.id()) + "/" + number;
    }

    /** Checks the name of a log, with room for the names of its segments and locks. */
    static void checkName(String log) {
        LmrSpec.checkName(log);
        int bytes = log.getBytes(StandardCharsets.UTF_8).length;
        int bytesMax = LmrSpec.NAME_BYTES_MAX - Consumers.NAME_BYTES_MAX - 48;
        if (bytes > bytesMax) {
            throw new IllegalArgumentException(
                    "the name of the log has %d bytes of UTF-8; the limit is %d".formatted(bytes, bytesMax));
        }
    }

    /**
     * Checks that this is memory of a log, and of this layout. Its creator may not have stored anything yet.
     *
     * @throws LogStateException if it is not
     */
    void requireLayout() {
        long magic = handle.size() < Long.BYTES ? 0 : handle.getLong(MAGIC_AT);
        if (magic != MAGIC && (magic ^ MAGIC) >>> Byte.SIZE == 0) {
            throw new LogStateException(
                    "the log \"%s\" has layout %d, and this version of LITE-Log uses layout %d: use the version that created it"
                            .formatted(log, magic & 0xff, MAGIC & 0xff));
        }
        if (handle.size() != BYTES) {
            throw new LogStateException("the LMR \"%s\" has %d bytes, not %d; it is not the metadata of a log"
                    .formatted(name(log), handle.size(), BYTES));
        }
    }

    long state() {
        return handle.getLong(STATE_AT);
    }

    /** Stores the settings. May be repeated until the log is ready. */
    void store(LogSpec spec) {
        handle.putLong(MAGIC_AT, MAGIC);
        handle.putLong(SEGMENT_BYTES_AT, spec.segmentBytes());
        handle.putLong(TYPICAL_AT, spec.transactionBytesTypical());
        handle.putLong(RETENTION_AT, spec.retentionBytes());
        handle.putLong(BOUND_AT, spec.boundBytes());
        handle.putLong(HOLE_TIMEOUT_AT, spec.holeTimeout().toNanos());
        handle.putLong(PERMISSIONS_AT, Permission.toBits(spec.defaultPermissions()));
        byte[] placement = Placements.toText(spec.placement()).getBytes(StandardCharsets.UTF_8);
        handle.putLong(PLACEMENT_LENGTH_AT, placement.length);
        handle.write(PLACEMENT_AT, placement);
    }

    void markReady() {
        handle.putLong(STATE_AT, STATE_READY);
    }

    void markDeleted() {
        handle.putLong(STATE_AT, STATE_DELETED);
    }

    /**
     * Reads the settings.
     *
     * @throws LogStateException if this is not the metadata of a log
     */
    LogSpec spec() {
        long magic = handle.getLong(MAGIC_AT);
        if (magic != MAGIC) {
            throw new LogStateException(
                    "the LMR \"%s\" begins with 0x%x, not with 0x%x; it is not the metadata of a log"
                            .formatted(name(log), magic, MAGIC));
        }
        try {
            byte[] placement = new byte[Math.clamp(handle.getLong(PLACEMENT_LENGTH_AT), 0, Placements.TEXT_BYTES_MAX)];
            handle.read(PLACEMENT_AT, placement);
            return new LogSpec(
                    handle.getLong(SEGMENT_BYTES_AT),
                    Math.toIntExact(handle.getLong(TYPICAL_AT)),
                    handle.getLong(RETENTION_AT),
                    handle.getLong(BOUND_AT),
                    Duration.ofNanos(handle.getLong(HOLE_TIMEOUT_AT)),
                    Placements.parse(new String(placement, StandardCharsets.UTF_8)),
                    Permission.fromBits(Math.toIntExact(handle.getLong(PERMISSIONS_AT))));
        } catch (IllegalArgumentException | ArithmeticException | StringIndexOutOfBoundsException e) {
            throw new LogStateException("the metadata of log \"%s\" is damaged: %s".formatted(log, e.getMessage()));
        }
    }

    long first() {
        return handle.getLong(FIRST_AT);
    }

    /** Moves the first segment on by one; false if another process did. */
    boolean advanceFirst(long from) {
        return handle.testSet(FIRST_AT, from, from + 1) == from;
    }

    /** All segments before this number are free: others before {@link #first} may have been left. */
    long freedBelow() {
        return handle.getLong(FREED_BELOW_AT);
    }

    void advanceFreedBelow(long from, long to) {
        handle.testSet(FREED_BELOW_AT, from, to);
    }

    long last() {
        return handle.getLong(LAST_AT);
    }

    /** Makes a segment the last one, if the last one is its predecessor. */
    void advanceLast(long to) {
        handle.testSet(LAST_AT, to - 1, to);
    }

    /** Holes below this position may be sealed without waiting. */
    long sealBelow() {
        return handle.getLong(SEAL_BELOW_AT);
    }

    /** Raises {@link #sealBelow}; never lowers it. */
    void advanceSealBelow(long to) {
        long now = sealBelow();
        while (now < to) {
            long before = handle.testSet(SEAL_BELOW_AT, now, to);
            if (before == now) {
                return;
            }
            now = before;
        }
    }

    LogPositionException lost(long segment) {
        long next = LogPosition.of(segment + 1, 0, 0);
        return new LogPositionException(
                next,
                "segment %d of log \"%s\" is lost: it was freed, and not by a cleaner, for example because its node was lost; the log continues at %s"
                        .formatted(segment, log, LogPosition.text(next)));
    }

    LogPositionException removed(long position) {
        long firstPosition = LogPosition.of(first(), 0, 0);
        return new LogPositionException(
                firstPosition,
                "the position %s of log \"%s\" was cleaned; the log begins at %s"
                        .formatted(LogPosition.text(position), log, LogPosition.text(firstPosition)));
    }
}

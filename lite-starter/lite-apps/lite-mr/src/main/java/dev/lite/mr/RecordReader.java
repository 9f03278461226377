package dev.lite.mr;

import dev.lite.mr.job.InputRecord;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * The records of a split: those that start in it. The last one may end behind it. One thread.
 */
final class RecordReader {
    private static final int BLOCK = 256 << 10;
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN)
            .withInvokeExactBehavior();
    private static final long LINE_FEEDS = 0x0A0A_0A0A_0A0A_0A0AL;
    private static final long ONES = 0x0101_0101_0101_0101L;
    private static final long HIGH_BITS = 0x8080_8080_8080_8080L;

    private final Source source;
    private final RecordFormat format;
    private final long splitEnd;
    private final InputRecord record;
    private final Runnable beforeMove;
    /** The bytes of the source from {@link #base} on. */
    private byte[] buffer = new byte[BLOCK];

    private long base;
    private int at;
    private int filled;

    /**
     * Creates a reader.
     *
     * @param record becomes one record after the other
     * @param beforeMove called before the bytes of former records move or change
     */
    RecordReader(Source source, InputRecord record, RecordFormat format, long start, long end, Runnable beforeMove) {
        this.source = source;
        this.format = format;
        splitEnd = Math.min(end, source.size());
        this.record = record;
        this.beforeMove = beforeMove;
        if (format.recordBytes() > 0) {
            long behindHeader = Math.max(0, start - format.headerBytes());
            long first = (behindHeader + format.recordBytes() - 1) / format.recordBytes();
            base = format.headerBytes() + first * format.recordBytes();
        } else if (start <= format.headerBytes()) {
            base = format.headerBytes();
        } else {
            base = start - 1;
            nextLine(); // The rest of a line that starts in the split before.
        }
    }

    /** Moves to the next record; false if there is none in this split. */
    boolean next() {
        return format.recordBytes() > 0 ? nextFixed() : nextLineOfSplit();
    }

    private boolean nextFixed() {
        if (base + at >= splitEnd) {
            return false;
        }
        while (filled - at < format.recordBytes()) {
            if (!fill()) {
                throw new MrException("the record at byte %d has %d of %d bytes"
                        .formatted(base + at, filled - at, format.recordBytes()));
            }
        }
        record.set(buffer, at, format.recordBytes());
        record.setPosition(base + at);
        at += format.recordBytes();
        return true;
    }

    private boolean nextLineOfSplit() {
        return base + at < splitEnd && nextLine();
    }

    private boolean nextLine() {
        int scanned = at;
        while (true) {
            int end = lineFeed(buffer, scanned, filled);
            if (end >= 0) {
                record.set(buffer, at, end - at);
                record.setPosition(base + at);
                at = end + 1;
                return true;
            }
            int unscanned = filled - at;
            if (!fill()) {
                if (at == filled) {
                    return false;
                }
                record.set(buffer, at, filled - at);
                record.setPosition(base + at);
                at = filled;
                return true;
            }
            scanned = at + unscanned;
        }
    }

    /** Reads more, behind what is not used; false at the end of the source. */
    private boolean fill() {
        beforeMove.run();
        System.arraycopy(buffer, at, buffer, 0, filled - at);
        base += at;
        filled -= at;
        at = 0;
        if (filled == buffer.length) {
            if (filled > RecordFormat.RECORD_BYTES_MAX) {
                throw new MrException(
                        "the record at byte %d has more than %d bytes".formatted(base, RecordFormat.RECORD_BYTES_MAX));
            }
            // The longest line, and its line feed.
            buffer = Arrays.copyOf(buffer, Math.min(buffer.length * 2, RecordFormat.RECORD_BYTES_MAX + 1));
        }
        int length = (int) Math.min(buffer.length - filled, source.size() - base - filled);
        if (length <= 0) {
            return false;
        }
        source.read(base + filled, buffer, filled, length);
        filled += length;
        return true;
    }

    /** The index of the first line feed, or -1; 8 bytes at a time. */
    private static int lineFeed(byte[] array, int from, int to) {
        int i = from;
        for (; i <= to - Long.BYTES; i += Long.BYTES) {
            long word = (long) LONG.get(array, i) ^ LINE_FEEDS;
            long found = (word - ONES) & ~word & HIGH_BITS;
            if (found != 0) {
                return i + (Long.numberOfTrailingZeros(found) >>> 3);
            }
        }
        for (; i < to; i++) {
            if (array[i] == '\n') {
                return i;
            }
        }
        return -1;
    }
}

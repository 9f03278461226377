package dev.lite.log;

/**
 * What a position contains. A position is a {@code long} that grows along the log and has three parts: the number of the segment, the slot,
 * and the number of the transaction in the slot (only batches have several).
 */
public final class LogPosition {
    private static final int SLOT_BITS = 20;
    private static final int INDEX_BITS = 12;
    private static final long SEGMENT_MAX = (1L << 31) - 1;

    static final int SLOTS_MAX = 1 << SLOT_BITS;

    /** The largest number of transactions in a slot. */
    static final int INDEX_MAX = 1 << INDEX_BITS;

    private LogPosition() {}

    /** Slot and index may be one too large: then it is the position that follows. */
    static long of(long segment, int slot, int index) {
        return (segment << (SLOT_BITS + INDEX_BITS)) + ((long) slot << INDEX_BITS) + index;
    }

    /** The number of the position's segment. */
    public static long segment(long position) {
        return position >>> (SLOT_BITS + INDEX_BITS);
    }

    /** The position's slot in its segment. */
    public static int slot(long position) {
        return (int) (position >>> INDEX_BITS) & (SLOTS_MAX - 1);
    }

    /** The number of the transaction in the slot. */
    public static int index(long position) {
        return (int) position & (INDEX_MAX - 1);
    }

    /** The position as text, for example {@code 7/1234.0}. */
    public static String text(long position) {
        return "%d/%d.%d".formatted(segment(position), slot(position), index(position));
    }

    static void check(long position) {
        if (position < 0) {
            throw new IllegalArgumentException("the position %d is negative".formatted(position));
        }
    }

    static boolean isLastSegment(long segment) {
        return segment >= SEGMENT_MAX;
    }
}

package dev.lite.log;

import dev.lite.api.LmrHandle;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A mapped segment: the tail, a mark, a commit word for each slot, and the data. See {@code docs/log.md}. Any thread.
 *
 * <p>The tail has the number of reserved slots in its upper 28 bits, and the number of reserved units in the lower 36. Reservations that do
 * not fit are counted, too. A thread adds at most one of them, so that the lower bits overflow only with more than 2,048 writers that
 * append the largest transaction at the same moment.
 */
final class Segment {
    /** Data is reserved in units of 8 bytes. */
    static final int UNIT_BYTES = 8;

    static final long SEALED = 2L << 62;
    static final long END = 3L << 62;

    private static final long COMMITTED = 1L << 62;
    private static final int TAIL_UNIT_BITS = 36;
    private static final int AT_BITS = 32;
    private static final int UNITS_BITS = 30;
    /** A cache line for the tail, and one that processors fetch with it, with the mark. */
    private static final long HEAD_BYTES = 128;

    private static final long MARK_AT = 64;

    private static final int INDEX_WORD_BYTES = 8;

    final long number;
    final LmrHandle handle;
    final Geometry geometry;
    private final AtomicBoolean successorBegun = new AtomicBoolean();
    /** Whether a reservation of this process did not fit, so that no later one does. */
    private volatile boolean knownFull;

    /**
     * How a segment is divided.
     *
     * @param slots the number of slots
     * @param dataStart the offset of the data, in bytes
     * @param units the number of units of data
     */
    record Geometry(int slots, long dataStart, long units) {
        static Geometry of(long segmentBytes, int transactionBytes) {
            long perTransaction = INDEX_WORD_BYTES + Segment.units(transactionBytes) * UNIT_BYTES;
            long slots = Math.clamp((segmentBytes - HEAD_BYTES) / perTransaction, 8, LogPosition.SLOTS_MAX);
            slots = Math.min(slots, segmentBytes / (4 * INDEX_WORD_BYTES)); // at most a quarter for small transactions
            long dataStart = (HEAD_BYTES + slots * INDEX_WORD_BYTES + 63) & -64;
            return new Geometry((int) slots, dataStart, (segmentBytes - dataStart) / UNIT_BYTES);
        }

        /** The largest transaction: so that a full segment wastes at most a quarter. */
        long transactionUnitsMax() {
            return units / 4;
        }
    }

    Segment(long number, LmrHandle handle, Geometry geometry) {
        this.number = number;
        this.handle = handle;
        this.geometry = geometry;
    }

    /** The number of units for so many bytes. */
    static long units(long bytes) {
        return (bytes + UNIT_BYTES - 1) / UNIT_BYTES;
    }

    /**
     * Takes the next slot and so many units. Returns the tail before; a full one, {@code -1}, if the segment is known to be full: while no
     * other segment can be made, appends that are repeated must not count here again and again.
     */
    long reserve(long units) {
        if (knownFull) {
            return -1;
        }
        long tail = handle.fetchAdd(0, (1L << TAIL_UNIT_BITS) + units);
        if (!fits(tail, units)) {
            knownFull = true;
        }
        return tail;
    }

    long tail() {
        return handle.getLong(0);
    }

    /** Notes that this memory was there before the log had come to its number. */
    void mark() {
        handle.putLong(MARK_AT, 1);
    }

    /** Whether this memory, of a number that the log has come to, was made after that: it has neither a mark nor data. */
    boolean isMadeAgain() {
        return handle.getLong(MARK_AT) == 0 && tail() == 0;
    }

    /** The number of slots that are reserved; no more than there are. */
    int reservedSlots(long tail) {
        return (int) Math.min(tail >>> TAIL_UNIT_BITS, geometry.slots);
    }

    static long tailUnits(long tail) {
        return tail & ((1L << TAIL_UNIT_BITS) - 1);
    }

    /** Whether every later reservation fails. */
    boolean isFull(long tail) {
        return tail >>> TAIL_UNIT_BITS >= geometry.slots || tailUnits(tail) > geometry.units;
    }

    /** Whether a reservation that found this tail has its room. */
    boolean fits(long tail, long units) {
        return tail >>> TAIL_UNIT_BITS < geometry.slots && tailUnits(tail) + units <= geometry.units;
    }

    /** True once, after half of the segment has been reserved. */
    boolean beginsSuccessor(long tail) {
        boolean half = (tail >>> TAIL_UNIT_BITS) * 2 >= geometry.slots || tailUnits(tail) * 2 >= geometry.units;
        return half && !successorBegun.getPlain() && successorBegun.compareAndSet(false, true);
    }

    void write(long at, MemorySegment frame) {
        handle.write(geometry.dataStart + at * UNIT_BYTES, frame);
    }

    void read(long at, MemorySegment destination) {
        handle.read(geometry.dataStart + at * UNIT_BYTES, destination);
    }

    void readWords(int slot, MemorySegment destination) {
        handle.read(HEAD_BYTES + (long) slot * INDEX_WORD_BYTES, destination);
    }

    long word(int slot) {
        return handle.getLong(HEAD_BYTES + (long) slot * INDEX_WORD_BYTES);
    }

    /** Sets a slot's word if it is 0. Returns the word before. */
    long decide(int slot, long word) {
        return handle.testSet(HEAD_BYTES + (long) slot * INDEX_WORD_BYTES, 0, word);
    }

    static long committed(long at, long units) {
        return COMMITTED | units << AT_BITS | at;
    }

    static boolean isCommitted(long word) {
        return word >>> 62 == 1;
    }

    static long at(long word) {
        return word & ((1L << AT_BITS) - 1);
    }

    static long unitsOf(long word) {
        return word >>> AT_BITS & ((1L << UNITS_BITS) - 1);
    }

    /** Whether a committed word names a range within the data. */
    boolean isInside(long word) {
        return unitsOf(word) > 0 && at(word) + unitsOf(word) <= geometry.units;
    }
}

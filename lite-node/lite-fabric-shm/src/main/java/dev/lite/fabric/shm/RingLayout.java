package dev.lite.fabric.shm;

/**
 * How the two rings of a connection lie in their memory: first the one from the connecting to the accepting node, then the one
 * back. A ring is the count of entries consumed so far, on a line of its own, and then the entries.
 *
 * <pre>
 *   entry  +0   long  the immediate in its low half; in its high half the number of the lap that it was written in, from 1 on
 *          +8   long  of data that travels in the entry: its length in the lowest {@value #LENGTH_BITS} bits, above it its offset
 *                     in the receiver's memory; 0 when there is none
 *          +16  that data, at most {@value #INLINE_BYTES_MAX} bytes
 * </pre>
 *
 * <p>An entry is complete if its lap is the expected one, so nothing needs to be cleared. Data in the entry saves the receiver a cache
 * miss, which is most of the time that a short message takes.
 */
final class RingLayout {
    /** Two cache lines: processors fetch them in pairs. */
    private static final int PADDING_BYTES = 128;

    private static final long CONSUMED = 0;
    private static final long ENTRIES = PADDING_BYTES;
    private static final int ENTRY_BYTES = 128;
    private static final int WHERE = 8;
    private static final int DATA = 16;
    private static final int LENGTH_BITS = 8;
    private static final long LENGTH_MASK = (1L << LENGTH_BITS) - 1;

    /** Longer data is placed by the sender. */
    static final int INLINE_BYTES_MAX = ENTRY_BYTES - DATA;

    private RingLayout() {}

    /** Of both rings together. */
    static long bytes(int entries) {
        return 2 * ringBytes(entries);
    }

    /** Where the ring begins that the connecting node sends by. */
    static long fromConnecting(long address) {
        return address;
    }

    /** Where the ring begins that the accepting node sends by. */
    static long fromAccepting(long address, int entries) {
        return address + ringBytes(entries);
    }

    private static long ringBytes(int entries) {
        return ENTRIES + (long) entries * ENTRY_BYTES;
    }

    static long consumedAddress(long ring) {
        return ring + CONSUMED;
    }

    /** Where the entry of a position lies; positions count from 0 and never wrap. */
    static long entryAddress(long ring, int entries, long position) {
        return ring + ENTRIES + (position & (entries - 1)) * ENTRY_BYTES;
    }

    static long whereAddress(long entryAddress) {
        return entryAddress + WHERE;
    }

    static long dataAddress(long entryAddress) {
        return entryAddress + DATA;
    }

    static long where(long offset, long length) {
        return length == 0 ? 0 : offset << LENGTH_BITS | length;
    }

    static long offset(long where) {
        return where >>> LENGTH_BITS;
    }

    static long length(long where) {
        return where & LENGTH_MASK;
    }

    static long entry(int entries, long position, int immediate) {
        return ((long) lap(entries, position) << Integer.SIZE) | Integer.toUnsignedLong(immediate);
    }

    static boolean isOf(long entry, int entries, long position) {
        return (int) (entry >>> Integer.SIZE) == lap(entries, position);
    }

    /** Wraps after 2^32 laps; only the lap before can be mistaken for it, and that differs. */
    private static int lap(int entries, long position) {
        return (int) (position >>> Integer.numberOfTrailingZeros(entries)) + 1;
    }
}

package dev.lite.fabric.shm;

/**
 * The memory layout of the two rings of a connection: first the ring from the connecting to the accepting node, then the ring in
 * the other direction. A ring starts with the number of consumed entries, on a cache line of its own; the entries follow.
 *
 * <pre>
 *   entry  +0   long  low half: the immediate; high half: the number of the lap in which it was written, from 1
 *          +8   long  lowest {@value #LENGTH_BITS} bits: length of the data in the entry; other bits: its offset in the
 *                     receiver's memory; 0 if the entry has no data
 *          +16  the data, at most {@value #INLINE_BYTES_MAX} bytes
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
    /** A sender counts its entries in so many bits; then it begins with 0 again. */
    static final int POSITION_BITS = 44;

    private static final long POSITION_MASK = (1L << POSITION_BITS) - 1;
    private static final int ENTRY_BYTES = 128;
    private static final int WHERE = 8;
    private static final int DATA = 16;
    private static final int LENGTH_BITS = 8;
    private static final long LENGTH_MASK = (1L << LENGTH_BITS) - 1;

    /** Maximum length of data in an entry; the sender copies longer data to its destination itself. */
    static final int INLINE_BYTES_MAX = ENTRY_BYTES - DATA;

    private RingLayout() {}

    /** Size of both rings together. */
    static long bytes(int entries) {
        return 2 * ringBytes(entries);
    }

    /** Offset of the ring in which the connecting node sends. */
    static long fromConnecting(long address) {
        return address;
    }

    /** Offset of the ring in which the accepting node sends. */
    static long fromAccepting(long address, int entries) {
        return address + ringBytes(entries);
    }

    private static long ringBytes(int entries) {
        return ENTRIES + (long) entries * ENTRY_BYTES;
    }

    static long consumedAddress(long ring) {
        return ring + CONSUMED;
    }

    /** Address of the entry of a position; positions count from 0 and never wrap. */
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

    /** The lap of a position, of which only {@value #POSITION_BITS} bits count. It wraps after at most 2^32 laps, which is harmless: an entry can only be from this lap or the previous one. */
    private static int lap(int entries, long position) {
        return (int) ((position & POSITION_MASK) >>> Integer.numberOfTrailingZeros(entries)) + 1;
    }
}

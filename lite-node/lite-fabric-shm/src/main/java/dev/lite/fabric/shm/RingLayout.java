package dev.lite.fabric.shm;

/**
 * How the two rings of a connection lie in their memory: first the one from the connecting to the accepting node, then the one
 * back. A ring is the count of entries consumed so far, on a line of its own, and then the entries.
 *
 * <p>An entry holds the immediate in its low half, and in its high half the number of the lap that it was written in, from 1
 * on: so it is whole when its lap is right, and nothing needs to be cleared.
 */
final class RingLayout {
    /** Two cache lines: processors fetch them in pairs. */
    private static final int PADDING_BYTES = 128;

    private static final long CONSUMED = 0;
    private static final long ENTRIES = PADDING_BYTES;

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
        return ENTRIES + Math.max(PADDING_BYTES, (long) entries * Long.BYTES);
    }

    static long consumedAddress(long ring) {
        return ring + CONSUMED;
    }

    /** Where the entry of a position lies; positions count from 0 and never wrap. */
    static long entryAddress(long ring, int entries, long position) {
        return ring + ENTRIES + (position & (entries - 1)) * Long.BYTES;
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

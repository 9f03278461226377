package dev.lite.fabric.rdma;

/**
 * Splits a memory into windows, one registration each. A window has 2<sup>{@code shift}</sup> bytes; the last one may be shorter. Windows
 * are necessary because DiSNI passes the length of a registration as an {@code int}, and because devices may have limits of their own.
 *
 * @param shift binary logarithm of the window size, {@value #SHIFT_MIN} to {@value #SHIFT_MAX}
 */
record Windows(int shift) {
    /** 1 MiB. With windows of this size, the pieces of the longest operation still fit into the shortest queue. */
    static final int SHIFT_MIN = 20;
    /** 1 GiB. */
    static final int SHIFT_MAX = 30;
    /** Maximum number of windows, because all keys must fit into one message. With the largest windows this allows 1 TiB. */
    static final int COUNT_MAX = 1024;

    Windows {
        if (shift < SHIFT_MIN || shift > SHIFT_MAX) {
            throw new IllegalArgumentException(
                    "a window has 2^%d to 2^%d bytes, not 2^%d".formatted(SHIFT_MIN, SHIFT_MAX, shift));
        }
    }

    /** Size of a window in bytes; the last one may be shorter. */
    long bytes() {
        return 1L << shift;
    }

    /** Number of windows of a memory of this size. */
    long count(long memoryBytes) {
        return (memoryBytes + bytes() - 1) >>> shift;
    }

    /** Offset at which a window starts. */
    long start(int window) {
        return (long) window << shift;
    }

    /** Index of the window that contains the offset. */
    int of(long offset) {
        return (int) (offset >>> shift);
    }

    /** Number of bytes from the offset to the end of its window, even if the memory ends before. */
    long left(long offset) {
        return bytes() - (offset & (bytes() - 1));
    }
}

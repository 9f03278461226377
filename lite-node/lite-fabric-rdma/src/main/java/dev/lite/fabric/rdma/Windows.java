package dev.lite.fabric.rdma;

/**
 * How a memory is cut into registrations: windows of two to the power of {@code shift} bytes, the last one shorter. DiSNI gives the length of
 * a registration as an {@code int}, and devices may have a limit of their own.
 *
 * @param shift {@value #SHIFT_MIN} to {@value #SHIFT_MAX}
 */
record Windows(int shift) {
    /** A mebibyte: the longest operation is cut into no more pieces than the shortest queue has places. */
    static final int SHIFT_MIN = 20;
    /** A gibibyte. */
    static final int SHIFT_MAX = 30;
    /** With the largest windows a tebibyte: the keys must fit into one message. */
    static final int COUNT_MAX = 1024;

    Windows {
        if (shift < SHIFT_MIN || shift > SHIFT_MAX) {
            throw new IllegalArgumentException(
                    "a window has 2^%d to 2^%d bytes, not 2^%d".formatted(SHIFT_MIN, SHIFT_MAX, shift));
        }
    }

    /** The length of each but the last one. */
    long bytes() {
        return 1L << shift;
    }

    /** How many a memory of this size has. */
    long count(long memoryBytes) {
        return (memoryBytes + bytes() - 1) >>> shift;
    }

    /** Where one begins. */
    long start(int window) {
        return (long) window << shift;
    }

    /** Which one an offset lies in. */
    int of(long offset) {
        return (int) (offset >>> shift);
    }

    /** From an offset to the end of its window, whether the memory reaches that or not. */
    long left(long offset) {
        return bytes() - (offset & (bytes() - 1));
    }
}

package dev.lite.api;

import java.nio.ByteOrder;
import java.util.function.IntUnaryOperator;
import java.util.function.LongUnaryOperator;

/** Changes of words by {@link LmrHandle#testSet}. Any thread. */
final class Words {
    private static final long LONG_MASK = Long.BYTES - 1;
    private static final boolean LITTLE_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
    private static final long LOW_HALF = 0xFFFF_FFFFL;

    private Words() {}

    static void requireAligned(String what, LmrHandle handle, long offset, int bytes) {
        if ((offset & (bytes - 1)) != 0) {
            throw new LmrBoundsException("%s at offset %d of %s: the offset must be a multiple of %d"
                    .formatted(what, offset, handle, bytes));
        }
    }

    /** Returns the previous value. A change to the same value writes nothing. */
    static long update(LmrHandle handle, long offset, LongUnaryOperator change) {
        long seen = handle.fetchAdd(offset, 0);
        while (true) {
            long next = change.applyAsLong(seen);
            long previous = next == seen ? seen : handle.testSet(offset, seen, next);
            if (previous == seen) {
                return seen;
            }
            seen = previous;
        }
    }

    /** Returns the previous value. */
    static int updateInt(String what, LmrHandle handle, long offset, IntUnaryOperator change) {
        requireAligned(what, handle, offset, Integer.BYTES);
        boolean atLow = ((offset & LONG_MASK) == 0) == LITTLE_ENDIAN;
        int shift = atLow ? 0 : Integer.SIZE;
        long mask = LOW_HALF << shift;
        long before = update(handle, offset & ~LONG_MASK, word -> {
            long changed = Integer.toUnsignedLong(change.applyAsInt((int) (word >>> shift)));
            return (word & ~mask) | (changed << shift);
        });
        return (int) (before >>> shift);
    }
}

package dev.lite.api;

import java.nio.ByteOrder;

/** Changes of words by {@link LmrHandle#testSet}. Any thread; allocates nothing. */
final class Words {
    private static final long LONG_MASK = Long.BYTES - 1;
    private static final boolean LITTLE_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
    private static final long LOW_HALF = 0xFFFF_FFFFL;

    private Words() {}

    /** What to do with a 32-bit word. An enum, because a lambda for each change would be an object for each change. */
    enum IntChange {
        ADD,
        SET,
        SET_IF_EXPECTED;

        private int apply(int word, int expected, int operand) {
            return switch (this) {
                case ADD -> word + operand;
                case SET -> operand;
                case SET_IF_EXPECTED -> word == expected ? operand : word;
            };
        }
    }

    static void requireAligned(String what, LmrHandle handle, long offset, int bytes) {
        if ((offset & (bytes - 1)) != 0) {
            throw LmrBoundsException.notAligned(what, handle, offset, bytes);
        }
    }

    /** Returns the previous value. A change to the same value writes nothing. */
    static long getAndSet(LmrHandle handle, long offset, long value) {
        long seen = handle.fetchAdd(offset, 0);
        while (true) {
            long previous = value == seen ? seen : handle.testSet(offset, seen, value);
            if (previous == seen) {
                return seen;
            }
            seen = previous;
        }
    }

    /**
     * Changes one half of an aligned 64-bit word. A change to the same value writes nothing.
     *
     * @param expected for {@link IntChange#SET_IF_EXPECTED} only
     * @return the previous value
     */
    static int updateInt(String what, LmrHandle handle, long offset, IntChange change, int expected, int operand) {
        requireAligned(what, handle, offset, Integer.BYTES);
        boolean atLow = ((offset & LONG_MASK) == 0) == LITTLE_ENDIAN;
        int shift = atLow ? 0 : Integer.SIZE;
        long others = ~(LOW_HALF << shift);
        long wordOffset = offset & ~LONG_MASK;
        long seen = handle.fetchAdd(wordOffset, 0);
        while (true) {
            int half = (int) (seen >>> shift);
            int changed = change.apply(half, expected, operand);
            long next = (seen & others) | (Integer.toUnsignedLong(changed) << shift);
            long previous = next == seen ? seen : handle.testSet(wordOffset, seen, next);
            if (previous == seen) {
                return half;
            }
            seen = previous;
        }
    }
}

package dev.lite.mr.data;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Hash, equality and order of ranges of bytes, 8 at a time. */
final class Bytes {
    static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN)
            .withInvokeExactBehavior();
    static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN)
            .withInvokeExactBehavior();

    private static final long FACTOR = 0x9E37_79B9_7F4A_7C15L;

    private Bytes() {}

    /** The same in every process, since it chooses the partition. */
    static int hash(byte[] array, int offset, int length) {
        long hash = length * FACTOR;
        int at = offset;
        int left = length;
        while (left >= Long.BYTES) {
            hash = mix(hash ^ (long) LONG.get(array, at));
            at += Long.BYTES;
            left -= Long.BYTES;
        }
        if (left > 0) {
            hash = mix(hash ^ tail(array, at, left));
        }
        hash *= FACTOR;
        return (int) (hash >>> 32);
    }

    /** Whether two ranges have the same bytes; faster than {@code Arrays.equals} for the length of a word. */
    static boolean isEqual(byte[] one, int oneOffset, byte[] other, int otherOffset, int length) {
        int at = 0;
        for (; length - at >= Long.BYTES; at += Long.BYTES) {
            if ((long) LONG.get(one, oneOffset + at) != (long) LONG.get(other, otherOffset + at)) {
                return false;
            }
        }
        return at == length || tail(one, oneOffset + at, length - at) == tail(other, otherOffset + at, length - at);
    }

    /** The last 1 to 7 bytes; in one read where the array goes on behind them. */
    private static long tail(byte[] array, int at, int left) {
        if (at <= array.length - Long.BYTES) {
            return (long) LONG.get(array, at) & (-1L >>> (Long.SIZE - left * Byte.SIZE));
        }
        long word = 0;
        for (int i = left - 1; i >= 0; i--) {
            word = (word << Byte.SIZE) | (array[at + i] & 0xff);
        }
        return word;
    }

    /** The first 8 bytes, with zeros behind a shorter range, as a number: signed comparison has the order of unsigned bytes. */
    static long prefix(byte[] array, int offset, int length) {
        long word =
                length >= Long.BYTES ? (long) LONG.get(array, offset) : length == 0 ? 0 : tail(array, offset, length);
        return Long.reverseBytes(word) ^ Long.MIN_VALUE;
    }

    private static long mix(long word) {
        long product = word * FACTOR;
        return product ^ (product >>> 29);
    }
}

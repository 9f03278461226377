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

    /** The longest range that is two words. */
    private static final int SHORT_MAX = 2 * Long.BYTES;

    private static final long FACTOR = 0x9E37_79B9_7F4A_7C15L;

    private Bytes() {}

    /**
     * The same in every process, since it chooses the partition. Most keys are short and their lengths vary, so up to 16 bytes are two words
     * that need no branch.
     */
    static int hash(byte[] array, int offset, int length) {
        long hash = length * FACTOR;
        int at = offset;
        int left = length;
        if (left > SHORT_MAX || offset > array.length - SHORT_MAX) {
            for (; left > SHORT_MAX; left -= Long.BYTES) {
                hash = mix(hash ^ (long) LONG.get(array, at));
                at += Long.BYTES;
            }
            hash = mix(hash ^ word(array, at, Math.min(left, Long.BYTES)));
            hash = mix(hash ^ (left > Long.BYTES ? word(array, at + Long.BYTES, left - Long.BYTES) : 0));
        } else {
            hash = mix(hash ^ ((long) LONG.get(array, at) & firstWord(left)));
            hash = mix(hash ^ ((long) LONG.get(array, at + Long.BYTES) & secondWord(left)));
        }
        return (int) ((hash * FACTOR) >>> 32);
    }

    /** Whether two ranges have the same bytes; faster than {@code Arrays.equals} for the length of a word. */
    static boolean isEqual(byte[] one, int oneOffset, byte[] other, int otherOffset, int length) {
        if (length <= SHORT_MAX && oneOffset <= one.length - SHORT_MAX && otherOffset <= other.length - SHORT_MAX) {
            long first = (long) LONG.get(one, oneOffset) ^ (long) LONG.get(other, otherOffset);
            long second =
                    (long) LONG.get(one, oneOffset + Long.BYTES) ^ (long) LONG.get(other, otherOffset + Long.BYTES);
            return ((first & firstWord(length)) | (second & secondWord(length))) == 0;
        }
        int at = 0;
        for (; length - at >= Long.BYTES; at += Long.BYTES) {
            if ((long) LONG.get(one, oneOffset + at) != (long) LONG.get(other, otherOffset + at)) {
                return false;
            }
        }
        return word(one, oneOffset + at, length - at) == word(other, otherOffset + at, length - at);
    }

    /** Copies a range. May also change bytes of the target array behind the range: up to 16 from its start. */
    static void copy(byte[] source, int from, byte[] target, int to, int length) {
        if (length <= SHORT_MAX && from <= source.length - SHORT_MAX && to <= target.length - SHORT_MAX) {
            LONG.set(target, to, (long) LONG.get(source, from));
            LONG.set(target, to + Long.BYTES, (long) LONG.get(source, from + Long.BYTES));
        } else {
            System.arraycopy(source, from, target, to, length);
        }
    }

    /** The bits that a range of 0 to 16 bytes has in its first 8. */
    private static long firstWord(int length) {
        return mask(Math.min(length, Long.BYTES));
    }

    /** The bits that a range of 0 to 16 bytes has behind its first 8. */
    private static long secondWord(int length) {
        return mask(Math.max(length - Long.BYTES, 0));
    }

    /** The bits of the first 0 to 8 bytes. */
    private static long mask(int bytes) {
        return (1L << (bytes * Byte.SIZE)) - 1 - (bytes >>> 3);
    }

    /** A range of 0 to 8 bytes as a number. Reads once if the array has 8 bytes there, and else byte by byte. */
    private static long word(byte[] array, int at, int left) {
        if (at <= array.length - Long.BYTES) {
            return (long) LONG.get(array, at) & mask(left);
        }
        long word = 0;
        for (int i = left - 1; i >= 0; i--) {
            word = (word << Byte.SIZE) | (array[at + i] & 0xff);
        }
        return word;
    }

    /** The first 8 bytes, with zeros behind a shorter range, as a number: signed comparison has the order of unsigned bytes. */
    static long prefix(byte[] array, int offset, int length) {
        return Long.reverseBytes(word(array, offset, Math.min(length, Long.BYTES))) ^ Long.MIN_VALUE;
    }

    private static long mix(long word) {
        long product = word * FACTOR;
        return product ^ (product >>> 29);
    }
}

package dev.lite.mr.jobs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Finds words: runs of bytes above the space. */
final class Words {
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN)
            .withInvokeExactBehavior();
    private static final long ABOVE_SPACES = 0x2121_2121_2121_2121L;
    private static final long HIGH_BITS = 0x8080_8080_8080_8080L;

    private Words() {}

    /** The index of the first byte of a word, or {@code to}. */
    static int start(byte[] array, int from, int to) {
        int at = from;
        while (at < to && (array[at] & 0xff) <= ' ') {
            at++;
        }
        return at;
    }

    /** The index of the first byte that belongs to no word, or {@code to}; looks at 8 bytes at a time. */
    static int end(byte[] array, int from, int to) {
        int at = from;
        for (; at <= to - Long.BYTES; at += Long.BYTES) {
            long word = (long) LONG.get(array, at);
            // The high bit of each byte below 0x21, and maybe of bytes behind the first of these.
            long found = (word - ABOVE_SPACES) & ~word & HIGH_BITS;
            if (found != 0) {
                return at + (Long.numberOfTrailingZeros(found) >>> 3);
            }
        }
        while (at < to && (array[at] & 0xff) > ' ') {
            at++;
        }
        return at;
    }
}

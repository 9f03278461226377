package dev.lite.mr.job;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;

/**
 * A range of bytes in an array. LITE-MR reuses slices, and the arrays behind them: what a job needs after the call it copies. Numbers are
 * little-endian and need no alignment. One thread.
 */
public class Slice implements Comparable<Slice> {
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN)
            .withInvokeExactBehavior();
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN)
            .withInvokeExactBehavior();
    private static final byte[] NOTHING = {};

    private byte[] array = NOTHING;
    private int offset;
    private int length;

    /** Creates an empty slice. */
    public Slice() {}

    /** A slice of a whole array, which it does not copy. */
    public static Slice of(byte[] array) {
        return new Slice().set(array, 0, array.length);
    }

    /** A slice of a text's UTF-8. */
    public static Slice of(String text) {
        return of(text.getBytes(StandardCharsets.UTF_8));
    }

    /** A slice of these numbers, 8 bytes each. */
    public static Slice of(long... numbers) {
        Slice slice = of(new byte[numbers.length * Long.BYTES]);
        for (int i = 0; i < numbers.length; i++) {
            slice.putLong(i * Long.BYTES, numbers[i]);
        }
        return slice;
    }

    /** Makes this slice a range of an array, which it does not copy. */
    public final Slice set(byte[] newArray, int newOffset, int newLength) {
        Objects.checkFromIndexSize(newOffset, newLength, newArray.length);
        array = newArray;
        offset = newOffset;
        length = newLength;
        return this;
    }

    /** Makes this slice the range of another one. */
    public final Slice set(Slice other) {
        array = other.array;
        offset = other.offset;
        length = other.length;
        return this;
    }

    /** The array, of which only {@link #length} bytes from {@link #offset} on belong to the slice. */
    public final byte[] array() {
        return array;
    }

    /** The index of the first byte in the array. */
    public final int offset() {
        return offset;
    }

    /** The number of bytes. */
    public final int length() {
        return length;
    }

    /** The byte at an index of the slice. */
    public final byte byteAt(int index) {
        return array[offset + Objects.checkIndex(index, length)];
    }

    /** The 64-bit number that starts at an index of the slice. */
    public final long getLong(int index) {
        return (long) LONG.get(array, offset + Objects.checkFromIndexSize(index, Long.BYTES, length));
    }

    /** Stores a 64-bit number. */
    public final void putLong(int index, long value) {
        LONG.set(array, offset + Objects.checkFromIndexSize(index, Long.BYTES, length), value);
    }

    /** The 32-bit number that starts at an index of the slice. */
    public final int getInt(int index) {
        return (int) INT.get(array, offset + Objects.checkFromIndexSize(index, Integer.BYTES, length));
    }

    /** Stores a 32-bit number. */
    public final void putInt(int index, int value) {
        INT.set(array, offset + Objects.checkFromIndexSize(index, Integer.BYTES, length), value);
    }

    /** A copy of the bytes. */
    public final byte[] toBytes() {
        return Arrays.copyOfRange(array, offset, offset + length);
    }

    /** The bytes as UTF-8. */
    public final String text() {
        return new String(array, offset, length, StandardCharsets.UTF_8);
    }

    /** Compares the bytes, without sign. */
    @Override
    public final int compareTo(Slice other) {
        return Arrays.compareUnsigned(
                array, offset, offset + length, other.array, other.offset, other.offset + other.length);
    }

    /** Whether the other object is a slice of the same bytes. */
    @Override
    public final boolean equals(Object other) {
        return other instanceof Slice slice && compareTo(slice) == 0;
    }

    @Override
    public final int hashCode() {
        int hash = 1;
        for (int i = offset; i < offset + length; i++) {
            hash = 31 * hash + array[i];
        }
        return hash;
    }

    @Override
    public String toString() {
        return text();
    }
}

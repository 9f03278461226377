package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * Memory by absolute address, through one segment that covers everything: as fast as a raw copy, and with nothing checked but
 * the sign. <b>The caller has checked</b> that the address is mapped for all of the length; otherwise the process ends.
 *
 * <p>Numbers are in native byte order. Plain accesses may be unaligned; the others must be aligned to their size and throw
 * {@link IllegalArgumentException} when they are not. Orders are those of {@link VarHandle} and hold between processes, too.
 * Any thread; nothing is allocated on the heap.
 */
public final class RawMemory {
    private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
    private static final VarHandle LONG = JAVA_LONG.varHandle();
    private static final VarHandle INT = JAVA_INT.varHandle();

    private RawMemory() {}

    /** All of the address space: offsets into it are addresses. */
    public static MemorySegment all() {
        return ALL;
    }

    /** Copies as {@code memmove} does: the ranges may overlap. Lengths in bytes. */
    public static void copy(long from, long to, long length) {
        MemorySegment.copy(ALL, from, ALL, to, length);
    }

    /** Copies from a segment of any kind to an address. Offset and length in bytes. */
    public static void copyFrom(MemorySegment source, long sourceOffset, long to, long length) {
        MemorySegment.copy(source, sourceOffset, ALL, to, length);
    }

    /** Copies from an address to a segment of any kind. Offset and length in bytes. */
    public static void copyTo(long from, MemorySegment destination, long destinationOffset, long length) {
        MemorySegment.copy(ALL, from, destination, destinationOffset, length);
    }

    /** Sets every byte of the range. */
    public static void fill(long address, long length, byte value) {
        ALL.asSlice(address, length).fill(value);
    }

    /** Plain. */
    public static byte getByte(long address) {
        return ALL.get(JAVA_BYTE, address);
    }

    /** Plain. */
    public static void putByte(long address, byte value) {
        ALL.set(JAVA_BYTE, address, value);
    }

    /** Plain; may be unaligned. */
    public static long getLong(long address) {
        return ALL.get(JAVA_LONG_UNALIGNED, address);
    }

    /** Plain; may be unaligned. */
    public static void putLong(long address, long value) {
        ALL.set(JAVA_LONG_UNALIGNED, address, value);
    }

    /** Atomic, without any order. */
    public static long getLongOpaque(long address) {
        return (long) LONG.getOpaque(ALL, address);
    }

    /** Atomic, without any order. */
    public static void putLongOpaque(long address, long value) {
        LONG.setOpaque(ALL, address, value);
    }

    /** With acquire order. */
    public static long getLongAcquire(long address) {
        return (long) LONG.getAcquire(ALL, address);
    }

    /** With release order. */
    public static void putLongRelease(long address, long value) {
        LONG.setRelease(ALL, address, value);
    }

    /** Sequentially consistent. */
    public static long getLongVolatile(long address) {
        return (long) LONG.getVolatile(ALL, address);
    }

    /** Sequentially consistent. */
    public static void putLongVolatile(long address, long value) {
        LONG.setVolatile(ALL, address, value);
    }

    /** Adds in one atomic step, sequentially consistent; the value before. */
    public static long getAndAddLong(long address, long delta) {
        return (long) LONG.getAndAdd(ALL, address, delta);
    }

    /** Sets in one atomic step, sequentially consistent; the value before. */
    public static long getAndSetLong(long address, long value) {
        return (long) LONG.getAndSet(ALL, address, value);
    }

    /** Sets when the value is the expected one, in one atomic step, sequentially consistent; the value before. */
    public static long compareAndExchangeLong(long address, long expected, long value) {
        return (long) LONG.compareAndExchange(ALL, address, expected, value);
    }

    /** Sets when the value is the expected one, in one atomic step, sequentially consistent; whether it did. */
    public static boolean compareAndSetLong(long address, long expected, long value) {
        return LONG.compareAndSet(ALL, address, expected, value);
    }

    /** Plain; may be unaligned. */
    public static int getInt(long address) {
        return ALL.get(JAVA_INT_UNALIGNED, address);
    }

    /** Plain; may be unaligned. */
    public static void putInt(long address, int value) {
        ALL.set(JAVA_INT_UNALIGNED, address, value);
    }

    /** Atomic, without any order. */
    public static int getIntOpaque(long address) {
        return (int) INT.getOpaque(ALL, address);
    }

    /** Atomic, without any order. */
    public static void putIntOpaque(long address, int value) {
        INT.setOpaque(ALL, address, value);
    }

    /** With acquire order. */
    public static int getIntAcquire(long address) {
        return (int) INT.getAcquire(ALL, address);
    }

    /** With release order. */
    public static void putIntRelease(long address, int value) {
        INT.setRelease(ALL, address, value);
    }

    /** Sequentially consistent. */
    public static int getIntVolatile(long address) {
        return (int) INT.getVolatile(ALL, address);
    }

    /** Sequentially consistent. */
    public static void putIntVolatile(long address, int value) {
        INT.setVolatile(ALL, address, value);
    }

    /** Adds in one atomic step, sequentially consistent; the value before. */
    public static int getAndAddInt(long address, int delta) {
        return (int) INT.getAndAdd(ALL, address, delta);
    }

    /** Sets in one atomic step, sequentially consistent; the value before. */
    public static int getAndSetInt(long address, int value) {
        return (int) INT.getAndSet(ALL, address, value);
    }

    /** Sets when the value is the expected one, in one atomic step, sequentially consistent; the value before. */
    public static int compareAndExchangeInt(long address, int expected, int value) {
        return (int) INT.compareAndExchange(ALL, address, expected, value);
    }

    /** Sets when the value is the expected one, in one atomic step, sequentially consistent; whether it did. */
    public static boolean compareAndSetInt(long address, int expected, int value) {
        return INT.compareAndSet(ALL, address, expected, value);
    }
}

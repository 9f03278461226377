package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * Accesses memory by absolute address, through one segment that covers the whole address space: as fast as a raw copy, with
 * no check except for a negative address. <b>The caller must check</b> that the whole range is mapped; an access to
 * unmapped memory crashes the process.
 *
 * <p>Numbers are in native byte order. Plain accesses may be unaligned; all others must be aligned to their size, or they
 * throw {@link IllegalArgumentException}. Memory orders are those of {@link VarHandle} and also hold between processes. Any
 * thread; allocates nothing on the heap.
 */
public final class RawMemory {
    private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
    private static final VarHandle LONG = JAVA_LONG.varHandle();
    private static final VarHandle INT = JAVA_INT.varHandle();

    private RawMemory() {}

    /** A segment over the whole address space: offsets into it are addresses. */
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

    /** Atomic, but without ordering. */
    public static long getLongOpaque(long address) {
        return (long) LONG.getOpaque(ALL, address);
    }

    /** Atomic, but without ordering. */
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

    /** Atomically adds, sequentially consistent; returns the previous value. */
    public static long getAndAddLong(long address, long delta) {
        return (long) LONG.getAndAdd(ALL, address, delta);
    }

    /** Atomically sets, sequentially consistent; returns the previous value. */
    public static long getAndSetLong(long address, long value) {
        return (long) LONG.getAndSet(ALL, address, value);
    }

    /** Atomically sets if the value is the expected one, sequentially consistent; returns the previous value. */
    public static long compareAndExchangeLong(long address, long expected, long value) {
        return (long) LONG.compareAndExchange(ALL, address, expected, value);
    }

    /** Atomically sets if the value is the expected one, sequentially consistent; returns whether it did. */
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

    /** Atomic, but without ordering. */
    public static int getIntOpaque(long address) {
        return (int) INT.getOpaque(ALL, address);
    }

    /** Atomic, but without ordering. */
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

    /** Atomically adds, sequentially consistent; returns the previous value. */
    public static int getAndAddInt(long address, int delta) {
        return (int) INT.getAndAdd(ALL, address, delta);
    }

    /** Atomically sets, sequentially consistent; returns the previous value. */
    public static int getAndSetInt(long address, int value) {
        return (int) INT.getAndSet(ALL, address, value);
    }

    /** Atomically sets if the value is the expected one, sequentially consistent; returns the previous value. */
    public static int compareAndExchangeInt(long address, int expected, int value) {
        return (int) INT.compareAndExchange(ALL, address, expected, value);
    }

    /** Atomically sets if the value is the expected one, sequentially consistent; returns whether it did. */
    public static boolean compareAndSetInt(long address, int expected, int value) {
        return INT.compareAndSet(ALL, address, expected, value);
    }
}

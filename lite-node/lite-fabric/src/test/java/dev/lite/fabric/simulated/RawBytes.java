package dev.lite.fabric.simulated;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/** Access to raw addresses of this process. */
final class RawBytes {
    private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
    private static final VarHandle LONG = JAVA_LONG.varHandle();

    private RawBytes() {}

    static void copy(long from, long to, long length) {
        MemorySegment.copy(ALL, from, ALL, to, length);
    }

    static byte[] take(long from, long length) {
        return ALL.asSlice(from, length).toArray(JAVA_BYTE);
    }

    static void put(byte[] bytes, long to) {
        MemorySegment.copy(bytes, 0, ALL, JAVA_BYTE, to, bytes.length);
    }

    static void putLong(long to, long value) {
        LONG.setVolatile(ALL, to, value);
    }

    static long getAndAdd(long address, long delta) {
        return (long) LONG.getAndAdd(ALL, address, delta);
    }

    static long compareAndExchange(long address, long expected, long value) {
        return (long) LONG.compareAndExchange(ALL, address, expected, value);
    }
}

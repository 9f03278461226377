package dev.lite.session.channel;

import dev.lite.os.RawMemory;
import java.lang.foreign.ValueLayout;

/**
 * The frames of a link, in native byte order of x86-64 and ARM (little-endian): kind and slot (1 byte each), 2 bytes of 0, the generation
 * (4), two numbers (4 each), then bytes of the window.
 *
 * <pre>
 *   kind          first number                             second number            bytes
 *   1 REQUEST     {@link ChannelArea#REQUEST_LENGTH}'s     the capacity             the context and the request
 *   2 CANCEL      0                                        0
 *   3 REPLY       the status                               the length               the reply; also for a request that was dropped
 * </pre>
 */
final class LinkFrame {
    static final int HEADER_BYTES = 16;
    static final int REQUEST = 1;
    static final int CANCEL = 2;
    static final int REPLY = 3;

    private static final int KIND_MASK = (1 << Byte.SIZE) - 1;
    private static final int NUMBERS_OFFSET = 8;

    private LinkFrame() {}

    /** Writes a header. */
    static void put(long header, int kind, int slot, int generation, int first, int second) {
        putWords(header, kind | slot << Byte.SIZE, generation);
        putWords(header + NUMBERS_OFFSET, first, second);
    }

    private static void putWords(long address, int low, int high) {
        RawMemory.putLong(address, Integer.toUnsignedLong(low) | (long) high << Integer.SIZE);
    }

    static int kind(long header) {
        return (int) word(header) & KIND_MASK;
    }

    /** With the 2 bytes of 0 above it: a header with others has a slot that is out of range. */
    static int slot(long header) {
        return (int) word(header) >>> Byte.SIZE;
    }

    static int generation(long header) {
        return (int) (word(header) >>> Integer.SIZE);
    }

    static int first(long header) {
        return (int) word(header + NUMBERS_OFFSET);
    }

    static int second(long header) {
        return (int) (word(header + NUMBERS_OFFSET) >>> Integer.SIZE);
    }

    /** Received headers are not aligned. */
    private static long word(long address) {
        return RawMemory.all().get(ValueLayout.JAVA_LONG_UNALIGNED, address);
    }
}

package dev.lite.fabric.tcp;

import dev.lite.os.RawMemory;
import org.jspecify.annotations.Nullable;

/**
 * A frame on a lane: a header of {@value #HEADER_BYTES} bytes, for some kinds a payload, and zero padding to a multiple
 * of {@value #ALIGNMENT}. Little-endian, like both processor architectures that LITE supports.
 *
 * <pre>
 *  0 kind (1)   1 zero (1)   2 magic (2)   4 acknowledged (4)
 *  8 length (4)             12 number: the immediate, or the operation answered (4)
 * 16 offset (8)             24 first (8)            32 second (8)
 * </pre>
 *
 * <p>Operations carry no number: the owner executes a lane's operations in order, so both sides count them. Every
 * header contains the number of completed operations, modulo 2^32, which acknowledges all of them. The owner answers a
 * read or an atomic operation with a separate frame.
 */
final class Frame {
    static final int HEADER_BYTES = 40;
    static final int ALIGNMENT = 8;
    /** The longest payload, in bytes. */
    static final int LENGTH_MAX = 1 << 30;

    // Operations.
    static final int WRITE = 1;
    static final int WRITE_IMM = 2;
    static final int READ = 3;
    static final int FETCH_ADD = 4;
    static final int COMPARE_AND_SWAP = 5;
    // Answers.
    static final int DATA = 6;
    static final int RESULT = 7;
    static final int REFUSED = 8;
    // Neither operations nor answers.
    static final int ACKNOWLEDGEMENT = 9;
    /** Asks for an acknowledgement, even if there is nothing new to acknowledge. */
    static final int PING = 10;

    private static final int MAGIC = 0x4C54;
    private static final int MAGIC_SHIFT = 16;
    private static final int BYTE_MASK = 0xFF;
    private static final int ACKNOWLEDGED = 4;
    private static final int LENGTH = 8;
    private static final int NUMBER = 12;
    private static final int OFFSET = 16;
    private static final int FIRST = 24;
    private static final int SECOND = 32;

    private Frame() {}

    static void encode(
            long header, int kind, int acknowledged, int length, int number, long offset, long first, long second) {
        RawMemory.putInt(header, kind | MAGIC << MAGIC_SHIFT);
        RawMemory.putInt(header + ACKNOWLEDGED, acknowledged);
        RawMemory.putInt(header + LENGTH, length);
        RawMemory.putInt(header + NUMBER, number);
        RawMemory.putLong(header + OFFSET, offset);
        RawMemory.putLong(header + FIRST, first);
        RawMemory.putLong(header + SECOND, second);
    }

    /** Why these {@value #HEADER_BYTES} bytes are not a valid header; null if they are. */
    static @Nullable String objection(long header) {
        int word = RawMemory.getInt(header);
        int kind = kind(header);
        if (word >>> MAGIC_SHIFT != MAGIC || (word >>> Byte.SIZE & BYTE_MASK) != 0) {
            return "invalid frame: it starts with 0x%08x".formatted(word);
        }
        if (kind < WRITE || kind > PING) {
            return "there is no frame of kind %d".formatted(kind);
        }
        int length = length(header);
        int lengthMax = kind <= READ || kind == DATA ? LENGTH_MAX : 0;
        if (length < 0 || length > lengthMax) {
            return "a frame of kind %d has a length of %d bytes; the limit is %d"
                    .formatted(kind, Integer.toUnsignedLong(length), lengthMax);
        }
        return null;
    }

    static int kind(long header) {
        return RawMemory.getInt(header) & BYTE_MASK;
    }

    static int acknowledged(long header) {
        return RawMemory.getInt(header + ACKNOWLEDGED);
    }

    static int length(long header) {
        return RawMemory.getInt(header + LENGTH);
    }

    static int number(long header) {
        return RawMemory.getInt(header + NUMBER);
    }

    static long offset(long header) {
        return RawMemory.getLong(header + OFFSET);
    }

    static long first(long header) {
        return RawMemory.getLong(header + FIRST);
    }

    static long second(long header) {
        return RawMemory.getLong(header + SECOND);
    }

    /** Bytes of payload after a header of this kind, without padding. */
    static int payload(int kind, int length) {
        return kind == WRITE || kind == WRITE_IMM || kind == DATA ? length : 0;
    }

    /** Zero bytes after a payload. */
    static int padding(int payload) {
        return -payload & (ALIGNMENT - 1);
    }

    static boolean isOperation(int kind) {
        return kind <= COMPARE_AND_SWAP;
    }

    /** Whether an operation changes the owner's memory or calls its handler. */
    static boolean changes(int kind) {
        return isOperation(kind) && kind != READ;
    }
}

package dev.lite.session.protocol;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Reads the fields of a message with untrusted content. Every length is checked against the field's limit and the rest of the message
 * before memory of that size is allocated. Not thread-safe.
 */
final class WireReader {
    private final MemorySegment message;
    private final int length;
    private int position;

    WireReader(MemorySegment message, int length) {
        this.message = message;
        this.length = length;
    }

    int getByte() throws ProtocolException {
        return message.get(ValueLayout.JAVA_BYTE, take("a byte", 1)) & 0xff;
    }

    int getInt() throws ProtocolException {
        return message.get(ValueLayout.JAVA_INT_UNALIGNED, take("an int", 4));
    }

    long getLong() throws ProtocolException {
        return message.get(ValueLayout.JAVA_LONG_UNALIGNED, take("a long", 8));
    }

    /** A count, checked against its limit and against the least number of bytes that so many items take. */
    int getCount(String what, int max, int itemBytesMin) throws ProtocolException {
        int count = getInt();
        if (count < 0 || count > max || (long) count * itemBytesMin > length - position) {
            throw new ProtocolException("%s: count %d; the limit is %d, and %d bytes of the message are left"
                    .formatted(what, count, max, length - position));
        }
        return count;
    }

    String getString(String what, int bytesMax) throws ProtocolException {
        int bytes = getInt();
        if (bytes < 0 || bytes > bytesMax) {
            throw new ProtocolException("%s: %d bytes of UTF-8; the limit is %d".formatted(what, bytes, bytesMax));
        }
        int at = take(what, bytes);
        byte[] utf8 = new byte[bytes];
        MemorySegment.copy(message, ValueLayout.JAVA_BYTE, at, utf8, 0, bytes);
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(utf8))
                    .toString();
        } catch (CharacterCodingException malformed) {
            throw new ProtocolException(what + ": not UTF-8: " + malformed.getMessage());
        }
    }

    @Nullable
    String getOptional(String what, int bytesMax) throws ProtocolException {
        return switch (getByte()) {
            case 0 -> null;
            case 1 -> getString(what, bytesMax);
            default -> throw new ProtocolException(what + ": neither present nor absent");
        };
    }

    String getText(String what) throws ProtocolException {
        return getString(what, SessionProtocol.TEXT_BYTES_MAX);
    }

    void finish() throws ProtocolException {
        if (position != length) {
            throw new ProtocolException(
                    "%d bytes after the end of a message of %d bytes".formatted(length - position, length));
        }
    }

    private int take(String what, int bytes) throws ProtocolException {
        if (bytes > length - position) {
            throw new ProtocolException("the message of %d bytes ends within %s at byte %d; %d bytes are missing"
                    .formatted(length, what, position, bytes - (length - position)));
        }
        int at = position;
        position += bytes;
        return at;
    }
}

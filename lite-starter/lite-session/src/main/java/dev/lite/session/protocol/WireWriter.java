package dev.lite.session.protocol;

import dev.lite.session.wire.WireText;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Writes the fields of a message. Throws IllegalArgumentException when one exceeds its limit. Not thread-safe. */
final class WireWriter {
    private final MemorySegment message;
    private int position;

    WireWriter(MemorySegment message) {
        this.message = message;
    }

    int position() {
        return position;
    }

    WireWriter putByte(int value) {
        message.set(ValueLayout.JAVA_BYTE, take(1), (byte) value);
        return this;
    }

    WireWriter putInt(int value) {
        message.set(ValueLayout.JAVA_INT_UNALIGNED, take(4), value);
        return this;
    }

    WireWriter putLong(long value) {
        message.set(ValueLayout.JAVA_LONG_UNALIGNED, take(8), value);
        return this;
    }

    /** A text of at most {@code bytesMax} bytes; a longer one is an error. */
    WireWriter putString(String what, String text, int bytesMax) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (bytes.length > bytesMax) {
            throw new IllegalArgumentException(
                    "%s has %d bytes of UTF-8; the limit is %d".formatted(what, bytes.length, bytesMax));
        }
        putInt(bytes.length);
        MemorySegment.copy(bytes, 0, message, ValueLayout.JAVA_BYTE, take(bytes.length), bytes.length);
        return this;
    }

    /** {@link #putString} of a text that may be null. */
    WireWriter putOptional(String what, @Nullable String text, int bytesMax) {
        putByte(text == null ? 0 : 1);
        return text == null ? this : putString(what, text, bytesMax);
    }

    /** A text for people; cut when it is longer than {@link SessionProtocol#TEXT_BYTES_MAX}. */
    WireWriter putText(String text) {
        byte[] bytes = WireText.cut(text, SessionProtocol.TEXT_BYTES_MAX);
        putInt(bytes.length);
        MemorySegment.copy(bytes, 0, message, ValueLayout.JAVA_BYTE, take(bytes.length), bytes.length);
        return this;
    }

    private int take(int bytes) {
        if (bytes > message.byteSize() - position) {
            throw new IllegalArgumentException("the control message needs more than %d bytes, the limit"
                    .formatted(SessionProtocol.MESSAGE_BYTES_MAX));
        }
        int at = position;
        position += bytes;
        return at;
    }
}

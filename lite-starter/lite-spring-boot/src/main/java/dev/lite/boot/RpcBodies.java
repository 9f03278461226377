package dev.lite.boot;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Converts requests and replies between objects and bytes. Immutable; any thread. */
final class RpcBodies {

    private static final byte[] EMPTY = {};

    /** Converts objects that are neither bytes nor text. */
    interface Json {
        byte[] write(Object value);

        Object read(byte[] bytes, Type type);
    }

    private final @Nullable Json json;

    /**
     * Creates the converter.
     *
     * @param json null without Jackson
     */
    RpcBodies(@Nullable Json json) {
        this.json = json;
    }

    /** Whether objects of this type can be converted. */
    boolean supports(Type type) {
        return json != null
                || type == byte[].class
                || type == String.class
                || type == MemorySegment.class
                || type == void.class
                || type == Void.class;
    }

    byte[] encode(@Nullable Object value) {
        return switch (value) {
            case null -> EMPTY;
            case byte[] bytes -> bytes;
            case String text -> text.getBytes(StandardCharsets.UTF_8);
            case MemorySegment segment -> segment.toArray(ValueLayout.JAVA_BYTE);
            default -> json(value.getClass()).write(value);
        };
    }

    /** Converts bytes to an object of that type; null for {@code void}. */
    @Nullable
    Object decode(byte[] bytes, Type type) {
        if (type == byte[].class) {
            return bytes;
        }
        if (type == String.class) {
            return new String(bytes, StandardCharsets.UTF_8);
        }
        if (type == MemorySegment.class) {
            return MemorySegment.ofArray(bytes);
        }
        return type == void.class || type == Void.class ? null : json(type).read(bytes, type);
    }

    private Json json(Type type) {
        if (json == null) {
            throw new IllegalArgumentException(
                    "%s can be sent only with Jackson on the class path; without it only byte[], String and MemorySegment"
                            .formatted(type.getTypeName()));
        }
        return json;
    }
}

package dev.lite.boot;

import java.lang.reflect.Type;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/** {@link RpcBodies.Json} by Jackson. */
final class JacksonBodies implements RpcBodies.Json {

    private final JsonMapper mapper;

    JacksonBodies(JsonMapper mapper) {
        this.mapper = mapper;
    }

    @Override
    public byte[] write(Object value) {
        try {
            return mapper.writeValueAsBytes(value);
        } catch (JacksonException e) {
            throw new IllegalArgumentException(
                    "%s cannot be written as JSON: %s"
                            .formatted(value.getClass().getTypeName(), e.getOriginalMessage()),
                    e);
        }
    }

    @Override
    public Object read(byte[] bytes, Type type) {
        if (bytes.length == 0) {
            if (mapper.constructType(type).hasRawClass(Optional.class)) {
                return Optional.empty();
            }
            throw new IllegalArgumentException(
                    "0 bytes, which void and null send, cannot be read as %s; an Optional can be missing"
                            .formatted(type.getTypeName()));
        }
        @Nullable Object value;
        try {
            value = mapper.readValue(bytes, mapper.constructType(type));
        } catch (JacksonException e) {
            throw new IllegalArgumentException(
                    "%d bytes cannot be read as %s: %s"
                            .formatted(bytes.length, type.getTypeName(), e.getOriginalMessage()),
                    e);
        }
        if (value == null) {
            throw new IllegalArgumentException(
                    "a JSON null, which an empty Optional sends, cannot be read as %s; an Optional can be missing"
                            .formatted(type.getTypeName()));
        }
        return value;
    }
}

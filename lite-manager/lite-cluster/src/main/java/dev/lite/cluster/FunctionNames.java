package dev.lite.cluster;

import dev.lite.api.LimitExceededException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The functions that a node has published.
 *
 * <pre>
 *   +0  incarnation  long  of the node's registration
 *   then for each function: its length (short) and its UTF-8
 * </pre>
 *
 * @param incarnation of the registration that serves them
 */
record FunctionNames(long incarnation, Set<String> functions) {
    private static final Logger log = LoggerFactory.getLogger(FunctionNames.class);

    FunctionNames {
        functions = Set.copyOf(functions);
    }

    static int bytes(String function) {
        return Short.BYTES + function.getBytes(StandardCharsets.UTF_8).length;
    }

    /** @throws LimitExceededException when the names are too long together */
    static void check(Collection<String> functions) {
        long bytes = functions.stream().mapToLong(FunctionNames::bytes).sum();
        if (bytes > ClusterDirectory.FUNCTIONS_BYTES_MAX) {
            throw new LimitExceededException("the names of %d functions have %d bytes; the limit is %d"
                    .formatted(functions.size(), bytes, ClusterDirectory.FUNCTIONS_BYTES_MAX));
        }
    }

    byte[] toBytes() {
        int size = functions.stream().mapToInt(FunctionNames::bytes).sum();
        ByteBuffer buffer = ByteBuffer.allocate(Long.BYTES + size).putLong(incarnation);
        for (String function : functions) {
            byte[] utf8 = function.getBytes(StandardCharsets.UTF_8);
            buffer.putShort((short) utf8.length).put(utf8);
        }
        return buffer.array();
    }

    /** Returns empty and logs when the content is invalid: one bad entry must not hide the others. */
    static Optional<FunctionNames> parse(String path, byte[] bytes) {
        try {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            long incarnation = buffer.getLong();
            Set<String> functions = new HashSet<>();
            while (buffer.hasRemaining()) {
                byte[] utf8 = new byte[Short.toUnsignedInt(buffer.getShort())];
                buffer.get(utf8);
                functions.add(new String(utf8, StandardCharsets.UTF_8));
            }
            return Optional.of(new FunctionNames(incarnation, functions));
        } catch (BufferUnderflowException e) {
            log.warn("The functions at {} are ignored: their {} bytes end too early", path, bytes.length);
            return Optional.empty();
        }
    }
}

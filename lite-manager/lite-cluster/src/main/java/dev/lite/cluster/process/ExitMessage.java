package dev.lite.cluster.process;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The reason why a process ended, in a file: the message that Kubernetes shows for a container that has ended, if the file is its
 * {@code terminationMessagePath}. Any thread.
 */
public final class ExitMessage {
    /** Kubernetes shows no more. */
    private static final int BYTES_MAX = 4096;

    private static final Logger log = LoggerFactory.getLogger(ExitMessage.class);

    private ExitMessage() {}

    /**
     * Writes the message, instead of a former one. Does not throw: a process that ends must end.
     *
     * @param file null for none
     * @param message at most 4,096 bytes of it are written
     */
    public static void write(@Nullable Path file, String message) {
        if (file == null) {
            return;
        }
        try {
            Files.write(file, beginning(message));
        } catch (IOException e) {
            log.warn("cannot write the exit message to {} (lite.exit-message-file): {}", file, e.toString());
        }
    }

    private static byte[] beginning(String message) {
        // An encoder stops before a character that has no room, rather than within it.
        CharsetEncoder encoder = StandardCharsets.UTF_8.newEncoder();
        ByteBuffer bytes = ByteBuffer.allocate(BYTES_MAX);
        Object unused = encoder.encode(CharBuffer.wrap(message), bytes, true);
        return Arrays.copyOf(bytes.array(), bytes.position());
    }
}

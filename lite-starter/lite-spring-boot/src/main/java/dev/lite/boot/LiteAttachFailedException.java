package dev.lite.boot;

import java.nio.file.Path;

/** The application could not attach to its host's node at start-up; {@link LiteAttachFailureAnalyzer} explains why. */
final class LiteAttachFailedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String socket;

    LiteAttachFailedException(Path socket, RuntimeException cause) {
        super("cannot attach to the LITE node at %s: %s".formatted(socket, cause.getMessage()), cause);
        this.socket = socket.toString();
    }

    Path socket() {
        return Path.of(socket);
    }
}

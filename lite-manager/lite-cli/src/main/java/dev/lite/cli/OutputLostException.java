package dev.lite.cli;

import java.io.Serial;

/** Ends a command whose output cannot be written. {@link LiteMain#execute} tells why, if that is a failure at all. */
final class OutputLostException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    OutputLostException() {
        super("cannot write to standard output");
    }
}

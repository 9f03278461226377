package dev.lite.cli;

import java.io.Serial;

/** Ends a command whose output cannot be written. {@link LiteMain#execute} tells why, if it is a failure. */
final class OutputLostException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    OutputLostException() {
        super("cannot write to standard output");
    }
}

package dev.lite.cluster.process;

import org.jspecify.annotations.Nullable;

/**
 * A process cannot start. It is told to a person: the message says what, the value and the limit, {@link #action} what to
 * do about it.
 */
public final class StartException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String action;

    /** With a message, what to do, and what caused it. */
    public StartException(String message, String action, @Nullable Throwable cause) {
        super(message, cause);
        this.action = action;
    }

    /** What to do about it, in words. */
    public String action() {
        return action;
    }
}

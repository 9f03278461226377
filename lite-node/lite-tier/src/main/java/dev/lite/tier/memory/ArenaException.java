package dev.lite.tier.memory;

import org.jspecify.annotations.Nullable;

/** The arena cannot be made or adopted. The message names the file, the value and the limit, and what to do. */
public final class ArenaException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ArenaException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}

package dev.lite.tier.memory;

import org.jspecify.annotations.Nullable;

/** A node cannot create or adopt its arena. The message names the file, the value, the limit and the remedy. */
public final class ArenaException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ArenaException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}

package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** The handle is stale: its LMR was freed, or the handle was unmapped. */
public final class LmrFreedException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception; the message names the operation, the value and the limit. */
    public LmrFreedException(String message) {
        this(message, null);
    }

    /** Creates the exception with its cause, if any. */
    public LmrFreedException(String message, @Nullable Throwable cause) {
        super(Code.LMR_FREED, message, cause);
    }
}

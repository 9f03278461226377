package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** The LMR was freed, or this handle on it was unmapped: the handle is stale. */
public final class LmrFreedException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** With a message that says what, the value and the limit. */
    public LmrFreedException(String message) {
        this(message, null);
    }

    /** With a cause. */
    public LmrFreedException(String message, @Nullable Throwable cause) {
        super(Code.LMR_FREED, message, cause);
    }
}

package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** There is no LMR of that name or id. */
public final class LmrNotFoundException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** With a message that says what, the value and the limit. */
    public LmrNotFoundException(String message) {
        this(message, null);
    }

    /** With a cause. */
    public LmrNotFoundException(String message, @Nullable Throwable cause) {
        super(Code.LMR_NOT_FOUND, message, cause);
    }
}

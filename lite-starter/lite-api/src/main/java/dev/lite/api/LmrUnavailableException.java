package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** A part of the LMR lies on a node that is lost. */
public final class LmrUnavailableException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** With a message that says what, the value and the limit. */
    public LmrUnavailableException(String message) {
        this(message, null);
    }

    /** With a cause. */
    public LmrUnavailableException(String message, @Nullable Throwable cause) {
        super(Code.LMR_UNAVAILABLE, message, cause);
    }
}

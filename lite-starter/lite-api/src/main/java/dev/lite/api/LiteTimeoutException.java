package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** The deadline passed. The message names it. */
public final class LiteTimeoutException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** With a message that says what, the value and the limit. */
    public LiteTimeoutException(String message) {
        this(message, null);
    }

    /** With a cause. */
    public LiteTimeoutException(String message, @Nullable Throwable cause) {
        super(Code.TIMEOUT, message, cause);
    }
}

package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** A configured limit or the free memory is too small for what was asked. Nothing was taken. */
public final class LimitExceededException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** With a message that says what, the value and the limit. */
    public LimitExceededException(String message) {
        this(message, null);
    }

    /** With a cause. */
    public LimitExceededException(String message, @Nullable Throwable cause) {
        super(Code.LIMIT_EXCEEDED, message, cause);
    }
}

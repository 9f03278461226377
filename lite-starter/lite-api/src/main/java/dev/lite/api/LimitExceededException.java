package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** A request exceeds a fixed or configured limit, or the free memory. Nothing was allocated; the message names the limit. */
public final class LimitExceededException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception; the message names the operation, the value and the limit. */
    public LimitExceededException(String message) {
        this(message, null);
    }

    /** Creates the exception with its cause, if any. */
    public LimitExceededException(String message, @Nullable Throwable cause) {
        super(Code.LIMIT_EXCEEDED, message, cause);
    }
}

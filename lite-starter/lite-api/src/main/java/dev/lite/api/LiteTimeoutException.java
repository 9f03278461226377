package dev.lite.api;

import org.jspecify.annotations.Nullable;

/**
 * The deadline passed before the operation finished. An operation that changes something may still take effect; see the
 * documentation of the method.
 */
public final class LiteTimeoutException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception; the message names the operation, the value and the limit. */
    public LiteTimeoutException(String message) {
        this(message, null);
    }

    /** Creates the exception with its cause, if any. */
    public LiteTimeoutException(String message, @Nullable Throwable cause) {
        super(Code.TIMEOUT, message, cause);
    }
}

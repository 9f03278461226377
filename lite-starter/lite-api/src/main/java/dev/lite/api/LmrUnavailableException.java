package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** A node that stores a part of the LMR is lost. The operation may succeed after that node has restarted. */
public final class LmrUnavailableException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception; the message names the operation, the value and the limit. */
    public LmrUnavailableException(String message) {
        this(message, null);
    }

    /** Creates the exception with its cause, if any. */
    public LmrUnavailableException(String message, @Nullable Throwable cause) {
        super(Code.LMR_UNAVAILABLE, message, cause);
    }
}

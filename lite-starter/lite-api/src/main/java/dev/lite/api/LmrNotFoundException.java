package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** No LMR has this name or id. */
public final class LmrNotFoundException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception; the message names the operation, the value and the limit. */
    public LmrNotFoundException(String message) {
        this(message, null);
    }

    /** Creates the exception with its cause, if any. */
    public LmrNotFoundException(String message, @Nullable Throwable cause) {
        super(Code.LMR_NOT_FOUND, message, cause);
    }
}

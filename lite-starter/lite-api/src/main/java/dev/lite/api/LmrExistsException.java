package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** Another LMR already has this name. */
public final class LmrExistsException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception; the message names the operation, the value and the limit. */
    public LmrExistsException(String message) {
        this(message, null);
    }

    /** Creates the exception with its cause, if any. */
    public LmrExistsException(String message, @Nullable Throwable cause) {
        super(Code.LMR_EXISTS, message, cause);
    }
}

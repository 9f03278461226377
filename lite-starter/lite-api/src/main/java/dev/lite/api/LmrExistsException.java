package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** The name belongs to another LMR already. */
public final class LmrExistsException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** With a message that says what, the value and the limit. */
    public LmrExistsException(String message) {
        this(message, null);
    }

    /** With a cause. */
    public LmrExistsException(String message, @Nullable Throwable cause) {
        super(Code.LMR_EXISTS, message, cause);
    }
}

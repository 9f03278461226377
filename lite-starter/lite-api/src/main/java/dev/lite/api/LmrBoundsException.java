package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** Some byte of the range lies outside the LMR, or the offset of a word is not a multiple of 8. Nothing was transferred. */
public final class LmrBoundsException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception; the message names the operation, the value and the limit. */
    public LmrBoundsException(String message) {
        this(message, null);
    }

    /** Creates the exception with its cause, if any. */
    public LmrBoundsException(String message, @Nullable Throwable cause) {
        super(Code.LMR_BOUNDS, message, cause);
    }
}

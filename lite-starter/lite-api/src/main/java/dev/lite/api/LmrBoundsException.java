package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** Some byte of the range lies outside the LMR, or the word is not aligned. Nothing was transferred. */
public final class LmrBoundsException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** With a message that says what, the value and the limit. */
    public LmrBoundsException(String message) {
        this(message, null);
    }

    /** With a cause. */
    public LmrBoundsException(String message, @Nullable Throwable cause) {
        super(Code.LMR_BOUNDS, message, cause);
    }
}

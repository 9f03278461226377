package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** The principal, or the handle, may not do that. */
public final class LmrPermissionException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** With a message that says what, the value and the limit. */
    public LmrPermissionException(String message) {
        this(message, null);
    }

    /** With a cause. */
    public LmrPermissionException(String message, @Nullable Throwable cause) {
        super(Code.LMR_PERMISSION, message, cause);
    }
}

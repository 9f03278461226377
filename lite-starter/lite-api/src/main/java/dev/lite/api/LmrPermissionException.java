package dev.lite.api;

import org.jspecify.annotations.Nullable;

/**
 * The principal or the handle lacks a permission that the operation needs, or the principal may not use the name, also that of a lock,
 * function or port. Nothing was done.
 */
public final class LmrPermissionException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception; the message names the operation, the value and the limit. */
    public LmrPermissionException(String message) {
        this(message, null);
    }

    /** Creates the exception with its cause, if any. */
    public LmrPermissionException(String message, @Nullable Throwable cause) {
        super(Code.LMR_PERMISSION, message, cause);
    }
}

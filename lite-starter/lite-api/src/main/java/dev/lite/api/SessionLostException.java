package dev.lite.api;

import org.jspecify.annotations.Nullable;

/**
 * The session with the node ended, or the server or port that was used was closed. Handles of an ended session stay unusable:
 * attach again and map by name, or let LITE do both ({@link Lite.AttachOptions#withReattach}).
 */
public final class SessionLostException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception; the message names the operation, the value and the limit. */
    public SessionLostException(String message) {
        this(message, null);
    }

    /** Creates the exception with its cause, if any. */
    public SessionLostException(String message, @Nullable Throwable cause) {
        super(Code.SESSION_LOST, message, cause);
    }
}

package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** The session with the node ended; its handles are gone. Attach again and map by name. */
public final class SessionLostException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** With a message that says what, the value and the limit. */
    public SessionLostException(String message) {
        this(message, null);
    }

    /** With a cause. */
    public SessionLostException(String message, @Nullable Throwable cause) {
        super(Code.SESSION_LOST, message, cause);
    }
}

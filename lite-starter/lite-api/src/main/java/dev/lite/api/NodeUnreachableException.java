package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** A node is unknown, not connected or does not answer. */
public final class NodeUnreachableException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** With a message that says what, the value and the limit. */
    public NodeUnreachableException(String message) {
        this(message, null);
    }

    /** With a cause. */
    public NodeUnreachableException(String message, @Nullable Throwable cause) {
        super(Code.NODE_UNREACHABLE, message, cause);
    }
}

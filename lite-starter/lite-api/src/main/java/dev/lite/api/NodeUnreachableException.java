package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** The node is unknown, is not connected or does not answer. */
public final class NodeUnreachableException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception; the message names the operation, the value and the limit. */
    public NodeUnreachableException(String message) {
        this(message, null);
    }

    /** Creates the exception with its cause, if any. */
    public NodeUnreachableException(String message, @Nullable Throwable cause) {
        super(Code.NODE_UNREACHABLE, message, cause);
    }
}

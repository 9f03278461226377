package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** The other side failed while it worked on a request. */
public final class RpcFailedException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** With a message that says what, the value and the limit. */
    public RpcFailedException(String message) {
        this(message, null);
    }

    /** With a cause. */
    public RpcFailedException(String message, @Nullable Throwable cause) {
        super(Code.RPC_FAILED, message, cause);
    }
}

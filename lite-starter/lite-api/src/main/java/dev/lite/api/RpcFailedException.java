package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** The called function failed, or nobody serves it. The message comes from the other side. */
public final class RpcFailedException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception; the message names the operation, the value and the limit. */
    public RpcFailedException(String message) {
        this(message, null);
    }

    /** Creates the exception with its cause, if any. */
    public RpcFailedException(String message, @Nullable Throwable cause) {
        super(Code.RPC_FAILED, message, cause);
    }
}

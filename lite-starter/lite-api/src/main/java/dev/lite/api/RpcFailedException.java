package dev.lite.api;

import org.jspecify.annotations.Nullable;

/**
 * The called function failed, or the server's side did not accept the call; {@link #status} says which. The message comes from the
 * server's side. To fail a call, a handler throws {@link RpcHandlerException}, not this exception.
 */
public final class RpcFailedException extends LiteException {
    private static final long serialVersionUID = 1L;

    private final RpcStatus status;
    private final int handlerCode;

    /** Creates the exception; the message names the operation, the value and the limit. */
    public RpcFailedException(RpcStatus status, String message) {
        this(status, 0, message, null);
    }

    /**
     * Creates the exception with the handler's code and the cause, if any.
     *
     * @param handlerCode see {@link #handlerCode}
     */
    public RpcFailedException(RpcStatus status, int handlerCode, String message, @Nullable Throwable cause) {
        super(Code.RPC_FAILED, message, cause);
        this.status = status;
        this.handlerCode = handlerCode;
    }

    /** Why the call failed, and whether it may have been executed. */
    public RpcStatus status() {
        return status;
    }

    /**
     * The code of {@link RpcHandlerException} or {@link RpcCall#fail(int, String)}, with {@link RpcStatus#HANDLER_FAILED}. LITE gives it
     * no meaning. 0 if the handler gave none, or with another status.
     */
    public int handlerCode() {
        return handlerCode;
    }
}

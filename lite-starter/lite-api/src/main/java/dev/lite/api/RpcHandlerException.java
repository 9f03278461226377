package dev.lite.api;

import org.jspecify.annotations.Nullable;

/**
 * A handler throws this exception to fail a call on purpose. The caller gets an {@link RpcFailedException} with {@link
 * RpcStatus#HANDLER_FAILED}, this code and this message, but not the cause. If a handler throws any other exception, the caller gets
 * neither its class nor its message.
 */
public class RpcHandlerException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int handlerCode;

    /** Creates the exception with the code 0. */
    public RpcHandlerException(String message) {
        this(0, message);
    }

    /**
     * Creates the exception.
     *
     * @param handlerCode any number; the function defines its meaning
     * @param message for the caller; cut to {@link RpcCall#FAIL_BYTES_MAX} bytes of UTF-8
     */
    public RpcHandlerException(int handlerCode, String message) {
        this(handlerCode, message, null);
    }

    /** {@link #RpcHandlerException(int, String)} with a cause. */
    public RpcHandlerException(int handlerCode, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.handlerCode = handlerCode;
    }

    /** The code for the caller. */
    public final int handlerCode() {
        return handlerCode;
    }
}

package dev.lite.api;

/**
 * Why a call or a message failed; see {@link RpcFailedException#status}. After {@link #NOT_SERVED}, {@link #REFUSED} and {@link
 * #OVERLOADED} the call was not executed, and will not be. After the others it may have been executed.
 */
public enum RpcStatus {
    /**
     * Only the message says more: the server's node could not send the reply, a node has a defect, or a newer peer sent a status that
     * this version does not know.
     */
    UNKNOWN(0),
    /** No session serves the function, or has the port open, at that node; or the server answered with {@link RpcCall#decline}. */
    NOT_SERVED(1),
    /** The handler threw an exception or returned null, or the server answered with {@link RpcCall#fail}. */
    HANDLER_FAILED(2),
    /** The server's side did not accept the call, for example because it accepts only shorter requests. */
    REFUSED(3),
    /** The server's side has too many unanswered calls. */
    OVERLOADED(4),
    /** The server ended before it answered. */
    CANCELLED(5);

    private final int number;

    RpcStatus(int number) {
        this.number = number;
    }

    /** The number on the wire. It never changes its meaning. */
    public int number() {
        return number;
    }

    /** The status with this number; {@link #UNKNOWN} if there is none. */
    public static RpcStatus of(int number) {
        for (RpcStatus status : values()) {
            if (status.number == number) {
                return status;
            }
        }
        return UNKNOWN;
    }
}

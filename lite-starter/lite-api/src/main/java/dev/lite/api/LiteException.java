package dev.lite.api;

import org.jspecify.annotations.Nullable;

/**
 * The common type of LITE's errors. Each message names the operation, the value and the limit. Mistakes in an argument that are
 * found without a node (a negative size) are {@link IllegalArgumentException}s instead.
 *
 * <p>{@link Code} maps each error to its number on the wire and back.
 */
public abstract sealed class LiteException extends RuntimeException
        permits BarrierBrokenException,
                ClusterUnavailableException,
                LimitExceededException,
                LiteTimeoutException,
                LmrBoundsException,
                LmrExistsException,
                LmrFreedException,
                LmrNotFoundException,
                LmrPermissionException,
                LmrUnavailableException,
                NodeUnreachableException,
                RpcFailedException,
                SessionLostException {

    private static final long serialVersionUID = 1L;

    private final Code code;

    LiteException(Code code, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.code = code;
    }

    /** Which error this is. */
    public final Code code() {
        return code;
    }

    /** The errors and their numbers on the wire. A number never changes its meaning. */
    public enum Code {
        /** {@link LmrNotFoundException}. */
        LMR_NOT_FOUND(1),
        /** {@link LmrExistsException}. */
        LMR_EXISTS(2),
        /** {@link LmrPermissionException}. */
        LMR_PERMISSION(3),
        /** {@link LmrBoundsException}. */
        LMR_BOUNDS(4),
        /** {@link LmrFreedException}. */
        LMR_FREED(5),
        /** {@link LmrUnavailableException}. */
        LMR_UNAVAILABLE(6),
        /** {@link LiteTimeoutException}. */
        TIMEOUT(7),
        /** {@link NodeUnreachableException}. */
        NODE_UNREACHABLE(8),
        /** {@link ClusterUnavailableException}. */
        CLUSTER_UNAVAILABLE(9),
        /** {@link LimitExceededException}. */
        LIMIT_EXCEEDED(10),
        /** {@link SessionLostException}. */
        SESSION_LOST(11),
        /** {@link RpcFailedException}. */
        RPC_FAILED(12),
        /** {@link BarrierBrokenException}. */
        BARRIER_BROKEN(13);

        private final int number;

        Code(int number) {
            this.number = number;
        }

        /** The number on the wire; at least 1. */
        public int number() {
            return number;
        }

        /** Creates an exception of this kind. */
        public LiteException exception(String message) {
            return switch (this) {
                case LMR_NOT_FOUND -> new LmrNotFoundException(message);
                case LMR_EXISTS -> new LmrExistsException(message);
                case LMR_PERMISSION -> new LmrPermissionException(message);
                case LMR_BOUNDS -> new LmrBoundsException(message);
                case LMR_FREED -> new LmrFreedException(message);
                case LMR_UNAVAILABLE -> new LmrUnavailableException(message);
                case TIMEOUT -> new LiteTimeoutException(message);
                case NODE_UNREACHABLE -> new NodeUnreachableException(message);
                case CLUSTER_UNAVAILABLE -> new ClusterUnavailableException(message);
                case LIMIT_EXCEEDED -> new LimitExceededException(message);
                case SESSION_LOST -> new SessionLostException(message);
                case RPC_FAILED -> new RpcFailedException(RpcStatus.UNKNOWN, message);
                case BARRIER_BROKEN -> new BarrierBrokenException(message);
            };
        }

        /**
         * Creates the exception that was sent as a number and a message. An unknown number, from a newer peer, becomes an
         * {@link RpcFailedException} that names it.
         */
        public static LiteException exception(int number, String message) {
            for (Code code : values()) {
                if (code.number == number) {
                    return code.exception(message);
                }
            }
            return new RpcFailedException(RpcStatus.UNKNOWN, "unknown error %d: %s".formatted(number, message));
        }
    }
}

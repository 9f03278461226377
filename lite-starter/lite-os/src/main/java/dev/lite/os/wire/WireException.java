package dev.lite.os.wire;

/** A peer violates the protocol or cannot be trusted. The message contains no secret. */
public final class WireException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public WireException(String message) {
        super(message);
    }

    public WireException(String message, Throwable cause) {
        super(message, cause);
    }
}

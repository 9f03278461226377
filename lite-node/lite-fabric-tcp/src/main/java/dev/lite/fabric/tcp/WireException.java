package dev.lite.fabric.tcp;

/** A peer violates the protocol or cannot be trusted. The message contains no secret. */
final class WireException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    WireException(String message) {
        super(message);
    }

    WireException(String message, Throwable cause) {
        super(message, cause);
    }
}

package dev.lite.fabric.tcp;

/** A peer's bytes make no sense, or it is not to be trusted. The message is for people, and holds no secret. */
final class WireException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    WireException(String message) {
        super(message);
    }

    WireException(String message, Throwable cause) {
        super(message, cause);
    }
}

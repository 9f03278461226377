package dev.lite.fabric.driver;

/** A peer's words make no sense, it is not to be trusted, or it is too slow. The message is for people, and holds no secret. */
public final class HandshakeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** With a message. */
    public HandshakeException(String message) {
        super(message);
    }

    /** With a message and what caused it. */
    public HandshakeException(String message, Throwable cause) {
        super(message, cause);
    }
}

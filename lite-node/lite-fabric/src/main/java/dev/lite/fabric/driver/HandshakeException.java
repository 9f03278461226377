package dev.lite.fabric.driver;

/** A handshake failed: the peer violates the protocol, does not know the secret, or is too slow. The message contains no secret. */
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

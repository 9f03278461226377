package dev.lite.fabric.shm;

/** A connection could not be made; the message is the reason that both sides are told. */
final class HandshakeException extends Exception {
    private static final long serialVersionUID = 1L;

    HandshakeException(String reason) {
        super(reason);
    }
}

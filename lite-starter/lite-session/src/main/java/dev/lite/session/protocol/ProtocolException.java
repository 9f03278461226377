package dev.lite.session.protocol;

/** The peer violated the protocol. Its session ends; other sessions are not affected. */
public final class ProtocolException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Creates the exception; the message names the field, the value and the limit. */
    public ProtocolException(String message) {
        super(message);
    }
}

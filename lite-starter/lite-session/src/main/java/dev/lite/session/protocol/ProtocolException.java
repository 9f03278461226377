package dev.lite.session.protocol;

/** The peer sent what the protocol does not allow. The session with it ends; nobody else is touched. */
public final class ProtocolException extends Exception {
    private static final long serialVersionUID = 1L;

    /** With a message that says what, the value and the limit. */
    public ProtocolException(String message) {
        super(message);
    }
}

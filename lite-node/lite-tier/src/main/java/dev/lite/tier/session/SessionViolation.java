package dev.lite.tier.session;

/** The application wrote something that LITE's client never writes. It ends the session. */
final class SessionViolation extends RuntimeException {
    private static final long serialVersionUID = 1L;

    SessionViolation(String message) {
        super(message, null, false, false);
    }
}

package dev.lite.demo;

/** The demo cannot start or continue; the message is for the user. */
final class DemoFailedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    DemoFailedException(String message) {
        super(message);
    }

    DemoFailedException(String message, Throwable cause) {
        super(message, cause);
    }
}

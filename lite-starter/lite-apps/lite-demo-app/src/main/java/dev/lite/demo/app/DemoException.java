package dev.lite.demo.app;

/** The demo cannot continue; the message is for the user. */
final class DemoException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    DemoException(String message) {
        super(message);
    }

    DemoException(String message, Throwable cause) {
        super(message, cause);
    }
}

package dev.lite.log;

/** A log that cannot be used: it was closed here or deleted, it was never completed, or its memory is not that of a log. */
public final class LogStateException extends LogException {
    private static final long serialVersionUID = 1L;

    LogStateException(String message) {
        super(message);
    }
}

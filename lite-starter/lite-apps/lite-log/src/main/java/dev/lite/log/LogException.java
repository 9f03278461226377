package dev.lite.log;

/**
 * The common type of this library's errors. Errors of the memory, of locks and of the session are {@link
 * dev.lite.api.LiteException}s, and mistakes in an argument {@link IllegalArgumentException}s.
 */
public abstract sealed class LogException extends RuntimeException
        permits AppendUncertainException,
                ConsumerLostException,
                LogCorruptedException,
                LogPositionException,
                LogStateException {
    private static final long serialVersionUID = 1L;

    LogException(String message) {
        super(message);
    }

    LogException(String message, Throwable cause) {
        super(message, cause);
    }
}

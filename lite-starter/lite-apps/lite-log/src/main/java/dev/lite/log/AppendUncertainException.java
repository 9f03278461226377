package dev.lite.log;

/**
 * An append whose commit got no answer before the deadline, or before its segment was cleaned: the transaction is in the log once, or not at
 * all.
 */
public final class AppendUncertainException extends LogException {
    private static final long serialVersionUID = 1L;

    AppendUncertainException(String message, Throwable cause) {
        super(message, cause);
    }
}

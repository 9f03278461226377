package dev.lite.mr;

/** A job failed, or could not start. The message says what, the value and the limit. Nothing of the job is left allocated. */
public final class MrException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception. */
    public MrException(String message) {
        super(message);
    }

    /** Creates the exception with its cause. */
    public MrException(String message, Throwable cause) {
        super(message, cause);
    }
}

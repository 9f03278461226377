package dev.lite.local;

/** A process of the cluster could not be started, died early, or was not ready in time. The message ends with its last words. */
public final class ProcessFailedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** With a message that names the process, what happened to it, and the last lines of its log. */
    public ProcessFailedException(String message) {
        super(message);
    }

    /** With a cause. */
    public ProcessFailedException(String message, Throwable cause) {
        super(message, cause);
    }
}

package dev.lite.local;

/**
 * A process of the cluster could not be started, died early, or was not ready in time. The message ends with the last lines
 * of its log.
 */
public final class ProcessFailedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception from a message that names the process, the failure, and the last lines of its log. */
    public ProcessFailedException(String message) {
        super(message);
    }

    /** Like the other constructor, with a cause. */
    public ProcessFailedException(String message, Throwable cause) {
        super(message, cause);
    }
}

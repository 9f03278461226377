package dev.lite.cli;

/** A command failed; the message is for the user. */
class CommandFailedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int exitStatus;

    /** @param exitStatus see {@link ExitStatus} */
    CommandFailedException(int exitStatus, String message) {
        super(message);
        this.exitStatus = exitStatus;
    }

    CommandFailedException(int exitStatus, String message, Throwable cause) {
        super(message, cause);
        this.exitStatus = exitStatus;
    }

    int exitStatus() {
        return exitStatus;
    }
}

package dev.lite.cli;

/** The exit statuses of the process. Scripts depend on them, so they must not change. */
final class ExitStatus {
    /** Success. */
    static final int OK = 0;

    /** The command was rejected or failed; the message says why. */
    static final int FAILED = 1;

    /** The command line is wrong. */
    static final int USAGE = 2;

    /** No manager or node could be reached. */
    static final int UNREACHABLE = 3;

    /** The manager rejected the token. */
    static final int DENIED = 4;

    /** The order was accepted and is still running at the deadline. */
    static final int NOT_YET = 5;

    private ExitStatus() {}
}

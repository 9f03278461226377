package dev.lite.cli;

/** What the process ends with. They are part of the interface: scripts look at them. */
final class ExitStatus {
    /** Done. */
    static final int OK = 0;

    /** It was refused, or it failed; the message says why. */
    static final int FAILED = 1;

    /** The command line is wrong. */
    static final int USAGE = 2;

    /** No manager could be reached. */
    static final int UNREACHABLE = 3;

    /** The manager asks for another token. */
    static final int DENIED = 4;

    /** The order is accepted and goes on, but was not done by the deadline. */
    static final int NOT_YET = 5;

    private ExitStatus() {}
}

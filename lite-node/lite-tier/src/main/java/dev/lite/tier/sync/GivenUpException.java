package dev.lite.tier.sync;

/** The session has given a lock or barrier up, or is about to. It must be opened by its name again. */
final class GivenUpException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    GivenUpException() {
        super("given up", null, false, false);
    }
}

package dev.lite.mr.data;

import dev.lite.api.LiteException;

/** A run cannot be written. As an exception of its own, so that nobody takes it for an input that cannot be read. */
public final class UnwrittenException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final LiteException reason;

    UnwrittenException(LiteException reason) {
        super(reason.getMessage(), reason);
        this.reason = reason;
    }

    /** Why. */
    public LiteException reason() {
        return reason;
    }
}

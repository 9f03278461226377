package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** A barrier cannot be passed any more in this round: a party died, gave up at its deadline, or named another number of parties. */
public final class BarrierBrokenException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** With a message that says what, the value and the limit. */
    public BarrierBrokenException(String message) {
        this(message, null);
    }

    /** With a cause. */
    public BarrierBrokenException(String message, @Nullable Throwable cause) {
        super(Code.BARRIER_BROKEN, message, cause);
    }
}

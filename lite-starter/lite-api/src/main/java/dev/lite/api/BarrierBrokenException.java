package dev.lite.api;

import org.jspecify.annotations.Nullable;

/**
 * The current round of a barrier can no longer complete: a party died, reached its deadline, or named another number of parties.
 * The next call of {@link LtBarrier#await} starts a new round.
 */
public final class BarrierBrokenException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception; the message names the operation, the value and the limit. */
    public BarrierBrokenException(String message) {
        this(message, null);
    }

    /** Creates the exception with its cause, if any. */
    public BarrierBrokenException(String message, @Nullable Throwable cause) {
        super(Code.BARRIER_BROKEN, message, cause);
    }
}

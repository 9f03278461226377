package dev.lite.tier.peer;

import dev.lite.session.async.PollingHelp;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets threads that wait for asynchronous operations poll the fabric that such an operation used last. With several fabrics that may be
 * the wrong one for a thread; then the standby thread of the other one ends its operation. Any thread.
 */
public final class LastRole implements PollingHelp {
    private volatile @Nullable PollRole role;

    /** An operation uses the fabric of this role. */
    public void used(PollRole its) {
        if (role != its) { // mostly it is the same, and the cache line stays shared
            role = its;
        }
    }

    @Override
    public @Nullable Wait newWait(BooleanSupplier over) {
        PollRole last = role;
        return last == null ? null : last.newWait(over);
    }
}

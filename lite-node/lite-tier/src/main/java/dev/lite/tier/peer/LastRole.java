package dev.lite.tier.peer;

import dev.lite.session.async.PollingHelp;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets threads that wait for asynchronous operations poll the fabric that the last such operation used. With several fabrics a thread
 * may poll the wrong one; then the standby thread of the right fabric completes its operation. Any thread.
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

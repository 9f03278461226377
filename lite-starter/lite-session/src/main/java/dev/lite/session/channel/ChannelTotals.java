package dev.lite.session.channel;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteStatistics.Count;
import java.util.HashSet;
import java.util.Set;

/** The sums of the {@link ChannelCounts} of an application's channels, also of those that have ended. Any thread. */
public final class ChannelTotals {
    @GuardedBy("this")
    private final Set<ChannelCounts> open = new HashSet<>();

    @GuardedBy("this")
    private Count ended = new Count(0, 0);

    /** Makes totals without channels. */
    public ChannelTotals() {}

    /** Includes a new channel. */
    public synchronized void opened(ChannelCounts counts) {
        open.add(counts);
    }

    /** Nobody counts for this channel any more. Idempotent. */
    public synchronized void closed(ChannelCounts counts) {
        if (open.remove(counts)) {
            ended = ended.plus(counts.sum());
        }
    }

    /** The sum at some time during the call. */
    public synchronized Count sum() {
        Count sum = ended;
        for (ChannelCounts counts : open) {
            sum = sum.plus(counts.sum());
        }
        return sum;
    }
}

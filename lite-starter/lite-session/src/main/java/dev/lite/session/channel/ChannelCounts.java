package dev.lite.session.channel;

import dev.lite.api.LiteStatistics.Count;
import dev.lite.os.OwnedCounters;

/** How many calls or answers one end of a channel has sent. Only the owner of a slot counts with that slot; any thread reads. */
public final class ChannelCounts {
    private static final int OPERATIONS = 0;
    private static final int BYTES = 1;

    private final OwnedCounters counters;

    ChannelCounts(ChannelArea area) {
        counters = new OwnedCounters(area.slots(), 2);
    }

    void add(int slot, long bytes) {
        long unused = counters.add(slot, OPERATIONS, 1);
        long unusedToo = counters.add(slot, BYTES, bytes);
    }

    Count sum() {
        return new Count(counters.sum(OPERATIONS), counters.sum(BYTES));
    }
}

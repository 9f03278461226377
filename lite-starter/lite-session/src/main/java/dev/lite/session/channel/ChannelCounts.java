package dev.lite.session.channel;

import dev.lite.api.LiteStatistics.Count;
import dev.lite.os.OwnedCounters;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** How many calls or answers one end of a channel has sent. Only the owner of a slot counts with that slot; any thread reads. */
public final class ChannelCounts {
    private static final int OPERATIONS = 0;
    private static final int BYTES = 1;
    /** One call of 256, by slot, is sampled. */
    private static final int SAMPLE_MASK = 255;

    private final OwnedCounters counters;
    private volatile @Nullable LongConsumer samples;

    ChannelCounts(ChannelArea area) {
        counters = new OwnedCounters(area.slots(), 2);
    }

    /**
     * Sets who learns of sampled calls.
     *
     * @param newSamples receives how long a sampled call took, in nanoseconds, on the caller's thread; must not block or throw
     */
    public void sampleTo(LongConsumer newSamples) {
        samples = newSamples;
    }

    void add(int slot, long bytes) {
        long unused = counters.add(slot, OPERATIONS, 1);
        long unusedToo = counters.add(slot, BYTES, bytes);
    }

    /** Counts a call for which a thread has waited since a time of {@link System#nanoTime}. */
    void addWaited(int slot, long bytes, long beganNs) {
        long unused = counters.add(slot, BYTES, bytes);
        LongConsumer sampled = (counters.add(slot, OPERATIONS, 1) & SAMPLE_MASK) == 1 ? samples : null;
        if (sampled != null) {
            sampled.accept(Math.max(0, System.nanoTime() - beganNs));
        }
    }

    Count sum() {
        return new Count(counters.sum(OPERATIONS), counters.sum(BYTES));
    }
}

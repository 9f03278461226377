package dev.lite.session.protocol;

import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts the operations of a session that are control requests: long memsets, and copies. Used by both sides,
 * beside {@link CommandCounts}. Any thread.
 */
public final class RequestCounts {
    private final Adders memsets = new Adders();
    private final Adders copies = new Adders();

    private static final class Adders {
        final LongAdder operations = new LongAdder();
        final LongAdder bytes = new LongAdder();

        void count(long length) {
            bytes.add(length);
            operations.increment();
        }

        void addTo(Map<Kind, Count> sums, Kind kind) {
            long sum = operations.sum();
            if (sum > 0) {
                sums.merge(kind, new Count(sum, bytes.sum()), Count::plus);
            }
        }
    }

    /** Makes counters that are all 0. */
    public RequestCounts() {}

    /** Counts a memset. */
    public void memset(long bytes) {
        memsets.count(bytes);
    }

    /** Counts a memcpy or memmove. */
    public void copy(long bytes) {
        copies.count(bytes);
    }

    /** Adds what was counted to the sums of the session. */
    public void addTo(Map<Kind, Count> sums) {
        memsets.addTo(sums, Kind.MEMSET);
        copies.addTo(sums, Kind.MEMCPY);
    }
}

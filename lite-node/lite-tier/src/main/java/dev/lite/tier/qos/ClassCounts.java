package dev.lite.tier.qos;

import java.util.concurrent.atomic.LongAdder;

/** What one priority did while a policy was in effect. Striped; any thread. */
final class ClassCounts {
    /** A round trip is measured for each so many bytes, so that long transfers do not look slow. */
    private static final long PIECE_BYTES = 64 << 10;

    private final LongAdder operations = new LongAdder();
    private final LongAdder bytes = new LongAdder();
    private final LongAdder nanos = new LongAdder();
    private final LongAdder pieces = new LongAdder();
    private final LongAdder queued = new LongAdder();
    private final LongAdder queuedNs = new LongAdder();
    private final LongAdder refused = new LongAdder();

    /** @param weight how many operations this one stands for */
    void ended(long weight, long itsBytes, long itsNs) {
        operations.add(weight);
        bytes.add(weight * itsBytes);
        nanos.add(weight * itsNs);
        pieces.add(weight * Math.max(1, itsBytes / PIECE_BYTES));
    }

    void queued(long itsNs) {
        queued.increment();
        queuedNs.add(itsNs);
    }

    void refused() {
        refused.increment();
    }

    /** The sums so far. */
    Sums sums() {
        return new Sums(
                operations.sum(), bytes.sum(), nanos.sum(), pieces.sum(), queued.sum(), queuedNs.sum(), refused.sum());
    }

    /** Sums since the start of the node. */
    record Sums(long operations, long bytes, long nanos, long pieces, long queued, long queuedNs, long refused) {
        Sums plus(Sums other) {
            return new Sums(
                    operations + other.operations,
                    bytes + other.bytes,
                    nanos + other.nanos,
                    pieces + other.pieces,
                    queued + other.queued,
                    queuedNs + other.queuedNs,
                    refused + other.refused);
        }
    }
}

package dev.lite.bench.contenders;

import dev.lite.bench.load.Operation;

/** Operations that begin and complete together, as in a pipeline of Redis. All have the time of the slowest one. */
final class Batch implements Operation {
    private final int size;
    private final Runnable exchange;
    private int left;
    private long beganNs;

    /** @param exchange completes so many operations */
    Batch(int size, Runnable exchange) {
        this.size = size;
        this.exchange = exchange;
    }

    @Override
    public void begin() {
        left = 0;
    }

    @Override
    public long run(long nowNs) {
        if (left == 0) {
            beganNs = nowNs;
            exchange.run();
            left = size;
        }
        left--;
        return beganNs;
    }
}

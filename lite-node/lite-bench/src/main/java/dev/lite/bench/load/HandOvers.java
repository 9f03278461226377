package dev.lite.bench.load;

/** Counts only acquisitions by another thread than the last one. Used by the holder of the measured lock. */
public final class HandOvers {
    private int last = -1;

    /** What {@link Operation#run} returns for an acquisition by this thread. */
    public long by(int thread, long nowNs) {
        if (last == thread) {
            return Operation.UNCOUNTED;
        }
        last = thread;
        return nowNs;
    }
}

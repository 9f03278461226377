package dev.lite.tier.qos;

/** Permits that the test gives. Used by one thread. */
final class GivenPermits implements Permits {
    /** What the next {@link #takeAll} gets. */
    long batch;

    @Override
    public long takeAll() {
        return batch;
    }

    @Override
    public void setPerSecond(long perSecond) {
        // the test gives the permits
    }
}

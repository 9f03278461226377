package dev.lite.tier.qos;

/** A source of permits at a rate. Used by one thread at a time. */
interface Permits {
    /** Takes all permits that there are now. Never blocks. */
    long takeAll();

    /** Changes the rate. */
    void setPerSecond(long perSecond);
}

package dev.lite.simulate.engine;

/** How much of a history is kept as text. */
public enum Detail {
    /** Nothing but a hash. */
    HASH,
    /** What was noted. */
    EVENTS,
    /** Every step of every thread too, to find out where two repetitions part. */
    STEPS
}

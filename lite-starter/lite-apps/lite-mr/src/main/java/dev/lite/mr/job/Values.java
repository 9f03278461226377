package dev.lite.mr.job;

/** The values of one key, in no defined order. They can be read once. One thread. */
public interface Values {
    /** Moves to the next value; false if there is none. */
    boolean next();

    /** The current value, valid until {@link #next}. */
    Slice value();
}

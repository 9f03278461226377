package dev.lite.mr.job;

/** Takes the results of a reduce function for its key, and copies them. One thread. */
public interface Reduced {
    /**
     * Adds a pair of the key and this value to the output.
     *
     * @throws IllegalArgumentException if the value is longer than {@link Emitter#VALUE_BYTES_MAX}
     */
    void emit(Slice value);

    /** Adds to a counter of the job. */
    void count(String counter, long number);
}

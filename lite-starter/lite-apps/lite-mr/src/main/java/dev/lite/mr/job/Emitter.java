package dev.lite.mr.job;

/**
 * Takes the pairs of a map function, and copies them: a job may use its arrays again. Only the bytes of the record itself are not copied at
 * once, so a job must not change bytes of a record after it emitted them. One thread.
 */
public interface Emitter {
    /** The longest key, in bytes. */
    int KEY_BYTES_MAX = 32 << 10;

    /** The longest value, in bytes. */
    int VALUE_BYTES_MAX = 1 << 20;

    /**
     * Emits a pair.
     *
     * @throws IllegalArgumentException if the key or the value is over its limit, or the combiner finds a value of another length for the
     *     same key; if the job does not catch it, it fails
     */
    void emit(Slice key, Slice value);

    /** Emits a pair with a 64-bit number as its value. The fastest form, most of all if the array is that of the record. */
    void emit(byte[] array, int keyOffset, int keyLength, long value);

    /** Emits a pair with a 64-bit number as its value. */
    default void emit(Slice key, long value) {
        emit(key.array(), key.offset(), key.length(), value);
    }

    /** Adds to a counter of the job. It counts once for each task, also if the task runs more than once. */
    void count(String counter, long number);
}

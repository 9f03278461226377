package dev.lite.mr.job;

/**
 * Folds the values of one key into one, before they are sent. All values of a job with a combiner have one length per key. The order in
 * which values are folded is not defined, so the operation is associative and commutative. Stateless: several threads use it.
 */
@FunctionalInterface
public interface Combiner {
    /** Adds values as vectors of 64-bit numbers. */
    Combiner SUM = (accumulated, value) -> {
        for (int i = 0; i < value.length(); i += Long.BYTES) {
            accumulated.putLong(i, accumulated.getLong(i) + value.getLong(i));
        }
    };

    /**
     * Folds a value into what was accumulated of its key.
     *
     * @param accumulated changed in place
     * @param value of the same length
     */
    void combine(Slice accumulated, Slice value);
}

package dev.lite.mr.job;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A MapReduce job. Public, with a public constructor without parameters: each thread of a worker makes an instance, calls {@link #setup}
 * once, and then the other methods. So a job needs no synchronization, and what it keeps in fields is not shared.
 *
 * <p>The result of a job depends only on its inputs and parameters: a task may run several times, on several workers.
 */
public abstract class Job {
    /** For subclasses. */
    protected Job() {}

    /**
     * Prepares the instance.
     *
     * @param parameters those of the job's specification
     */
    public void setup(Map<String, String> parameters) {}

    /** Emits pairs for a record. What it throws fails the job, with the place of the record. */
    public abstract void map(InputRecord record, Emitter out);

    /** How values of equal keys are combined before they are sent; null if they are not. */
    public @Nullable Combiner combiner() {
        return null;
    }

    /**
     * Emits results for a key. By default these are the key's values, folded into one if there is a combiner.
     *
     * @param key valid during the call
     */
    public void reduce(Slice key, Values values, Reduced out) {
        Combiner combiner = combiner();
        if (combiner == null) {
            while (values.next()) {
                out.emit(values.value());
            }
        } else if (values.next()) {
            Slice all = Slice.of(values.value().toBytes());
            while (values.next()) {
                combiner.combine(all, values.value());
            }
            out.emit(all);
        }
    }

    /**
     * The partition of a key. Equal keys have the same one.
     *
     * @param hash a good hash of the key
     * @param partitions the number of partitions
     * @return 0 to {@code partitions - 1}; by default from the hash
     */
    public int partition(Slice key, int hash, int partitions) {
        return (int) (((hash & 0xffff_ffffL) * partitions) >>> 32);
    }

    /** The order of keys in the output; by default that of their bytes, without sign. Only equal keys compare as 0. */
    public int compare(Slice left, Slice right) {
        return left.compareTo(right);
    }

    /** Whether {@link #compare} is not overridden; then LITE-MR compares most keys by their first 8 bytes. */
    public final boolean isBytewise() {
        try {
            return getClass().getMethod("compare", Slice.class, Slice.class).getDeclaringClass() == Job.class;
        } catch (NoSuchMethodException e) {
            throw new AssertionError("a job has a method compare", e);
        }
    }

    /**
     * A line of the output file, without the line feed. By default the key as text, a tab, and the value: as a number if it has 8 bytes, and
     * else as text.
     */
    public void format(Slice key, Slice value, StringBuilder line) {
        line.append(key.text()).append('\t');
        if (value.length() == Long.BYTES) {
            line.append(value.getLong(0));
        } else {
            line.append(value.text());
        }
    }
}

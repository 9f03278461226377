package dev.lite.bench.load;

/** The calling side of a contender, in its own process. Used by one thread. */
public interface Caller extends AutoCloseable {
    /**
     * Prepares the operation of one thread.
     *
     * @param thread 0 to {@code workload.callers() - 1}
     */
    Operation operation(Workload workload, int thread);

    @Override
    void close();
}

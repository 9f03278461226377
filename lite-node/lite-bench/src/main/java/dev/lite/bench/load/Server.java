package dev.lite.bench.load;

/** The serving side of a contender, in its own process. Used by one thread. */
public interface Server extends AutoCloseable {
    /** What callers must know of it, such as a port; one word. */
    default String address() {
        return "-";
    }

    /** Gets ready for a workload. What only an earlier one needed ends, such as the threads of its functions. */
    default void prepare(Workload workload) {}

    @Override
    default void close() {}
}

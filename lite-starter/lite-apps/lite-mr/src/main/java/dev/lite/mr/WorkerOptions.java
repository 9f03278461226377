package dev.lite.mr;

/**
 * How a worker works. Start with {@link #of}.
 *
 * @param group the name of the group, whose master gives the tasks
 * @param name the worker's name in messages and on the job page
 * @param threads how many tasks it executes at the same time, 1 to {@value #THREADS_MAX}
 */
public record WorkerOptions(String group, String name, int threads) {
    /** The largest number of threads. */
    public static final int THREADS_MAX = 256;

    /**
     * Checks the values.
     *
     * @throws IllegalArgumentException if the number of threads is out of range, or a name is blank or too long
     */
    public WorkerOptions {
        MapReduce.checkGroup(group);
        if (name.isBlank() || name.length() > MapReduce.GROUP_CHARS_MAX) {
            throw new IllegalArgumentException(
                    "the worker's name \"%s\" must have 1 to %d characters".formatted(name, MapReduce.GROUP_CHARS_MAX));
        }
        if (threads < 1 || threads > THREADS_MAX) {
            throw new IllegalArgumentException(
                    "a worker with %d threads; it can have 1 to %d".formatted(threads, THREADS_MAX));
        }
    }

    /** A worker with one thread for each processor, named after its process. */
    public static WorkerOptions of(String group) {
        return new WorkerOptions(
                group,
                "worker-" + ProcessHandle.current().pid(),
                Math.min(THREADS_MAX, Runtime.getRuntime().availableProcessors()));
    }

    /** With this name. */
    public WorkerOptions withName(String newName) {
        return new WorkerOptions(group, newName, threads);
    }

    /** With so many threads. */
    public WorkerOptions withThreads(int newThreads) {
        return new WorkerOptions(group, name, newThreads);
    }
}

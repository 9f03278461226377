package dev.lite.simulate.engine;

/** A simulated thread as its scheduler sees it. */
final class Task {
    static final long NOW = -1;

    final int id;
    final SimulatedProcess process;
    final Thread thread;
    final Runnable continuation;
    final boolean platform;

    /** When it may run again after the yield that it is about to make; {@link #NOW} when nothing holds it back. */
    long heldUntilNs = NOW;

    /** The highest runs first while priorities decide. */
    long priority;

    Task(int id, SimulatedProcess process, Thread thread, boolean platform) {
        this.id = id;
        this.process = process;
        this.thread = thread;
        this.continuation = JdkThreads.continuation(thread);
        this.platform = platform;
    }

    @Override
    public String toString() {
        return "#" + id + " " + process + "/" + thread.getName();
    }
}

package dev.lite.bench.load;

import java.util.Locale;

/**
 * What one row measures. Immutable.
 *
 * @param kind the operation
 * @param callers the number of threads
 * @param virtual whether they are virtual threads
 * @param underWay how many operations each thread keeps outstanding; 1: the synchronous form
 * @param bytes the size of a request and of its reply, of a read or of a write
 * @param functions how many functions the server serves; each caller calls them in turn
 * @param handlers whether the functions have handlers; otherwise each has one thread that receives
 */
public record Workload(
        Kind kind, int callers, boolean virtual, int underWay, int bytes, int functions, boolean handlers) {

    /** The operations. */
    public enum Kind {
        /** A call and its reply, both of the same size. */
        CALL,
        /** A read. */
        READ,
        /** A write. */
        WRITE,
        /** Adds to a word of the caller's own. */
        ADD,
        /** Acquires and releases a lock that all threads want. */
        LOCK
    }

    private static final int CALL_BYTES = 8;
    private static final int FIELDS = 7;

    /** Synchronous calls of 8 bytes to one function, which one thread serves. */
    public static Workload calls(int callers) {
        return new Workload(Kind.CALL, callers, false, 1, CALL_BYTES, 1, false);
    }

    /** Synchronous reads. */
    public static Workload reads(int threads, int bytes) {
        return new Workload(Kind.READ, threads, false, 1, bytes, 0, false);
    }

    /** Additions to words, each thread to another one. */
    public static Workload adds(int threads) {
        return new Workload(Kind.ADD, threads, false, 1, Long.BYTES, 0, false);
    }

    /** Threads that compete for one lock. */
    public static Workload locks(int threads) {
        return new Workload(Kind.LOCK, threads, false, 1, 0, 0, false);
    }

    /** The same by virtual threads. */
    public Workload onVirtualThreads() {
        return new Workload(kind, callers, true, underWay, bytes, functions, handlers);
    }

    /** The same against this server. */
    public Workload withFunctions(int newFunctions, boolean newHandlers) {
        return new Workload(kind, callers, virtual, underWay, bytes, newFunctions, newHandlers);
    }

    /** The same with so many outstanding operations of each thread. */
    public Workload withUnderWay(int newUnderWay) {
        return new Workload(kind, callers, virtual, newUnderWay, bytes, functions, handlers);
    }

    /** One thread with so many outstanding operations of another kind or size. */
    public static Workload outstanding(Kind kind, int underWay, int bytes) {
        return new Workload(kind, 1, false, underWay, bytes, kind == Kind.CALL ? 1 : 0, false);
    }

    /** A line for {@link #parse}. */
    String toLine() {
        return "%s %d %s %d %d %d %s".formatted(kind, callers, virtual, underWay, bytes, functions, handlers);
    }

    static Workload parse(String line) {
        String[] words = line.split(" ", -1);
        if (words.length != FIELDS) {
            throw new IllegalArgumentException("a workload has %d fields: \"%s\"".formatted(FIELDS, line));
        }
        return new Workload(
                Kind.valueOf(words[0]),
                Integer.parseInt(words[1]),
                Boolean.parseBoolean(words[2]),
                Integer.parseInt(words[3]),
                Integer.parseInt(words[4]),
                Integer.parseInt(words[5]),
                Boolean.parseBoolean(words[6]));
    }

    /** For the table, such as {@code call 8 B, 8 callers}. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(kind.name().toLowerCase(Locale.ROOT));
        if (bytes > 0) {
            text.append(' ').append(bytes < 1024 ? bytes + " B" : (bytes >> 10) + " KiB");
        }
        text.append(", ").append(callers).append(virtual ? " virtual" : callers == 1 ? " thread" : " threads");
        if (underWay > 1) {
            text.append(", ").append(underWay).append(" under way");
        }
        if (functions > 1 || handlers) {
            text.append(", ").append(functions).append(functions == 1 ? " function, " : " functions, ");
            text.append(handlers ? "handlers" : "receive");
        }
        return text.toString();
    }
}

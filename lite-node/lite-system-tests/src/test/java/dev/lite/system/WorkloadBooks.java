package dev.lite.system;

import dev.lite.api.LiteException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

/** Records the operations of the workers of a {@link Workload}, the results that must follow, and all violations. Any thread. */
final class WorkloadBooks {
    private static final int WRONG_MAX = 50;

    private final Duration limit;
    private final ConcurrentLinkedQueue<String> wrong = new ConcurrentLinkedQueue<>();
    private final Map<String, AtomicLong> failures = new ConcurrentHashMap<>();
    private final AtomicLong tried = new AtomicLong();
    private final AtomicLong failed = new AtomicLong();
    /** Number of writes that were refused because a holder with a larger token had come. */
    private final AtomicLong fenced = new AtomicLong();

    private final Range[] counters;
    private final Range locked = new Range();
    private long newestToken = -1; // guarded by this

    /**
     * @param limit the time limit of one operation, whether it succeeds or fails
     */
    WorkloadBooks(int counters, Duration limit) {
        this.limit = limit;
        this.counters = new Range[counters];
        Arrays.setAll(this.counters, chunk -> new Range());
    }

    /** A number of events: certain ones, and ones with an unknown outcome. */
    static final class Range {
        private final AtomicLong certain = new AtomicLong();
        private final AtomicLong doubtful = new AtomicLong();

        long certain() {
            return certain.get();
        }

        /** The event may happen from now on. Its outcome stays unknown unless {@link #end} follows. */
        void begin() {
            doubtful.incrementAndGet();
        }

        /** The event has happened. */
        void end() {
            certain.incrementAndGet();
            doubtful.decrementAndGet();
        }

        /** The most that can have happened so far. */
        long most() {
            long open = doubtful.get(); // read first: an event that ends meanwhile counts twice, and not never
            return open + certain.get();
        }

        boolean allows(long value) {
            return value >= certain.get() && value <= most();
        }

        @Override
        public String toString() {
            return "%d to %d".formatted(certain.get(), most());
        }
    }

    /**
     * The counts so far.
     *
     * @param failures the allowed exceptions with their counts, by operation and type
     */
    record Tally(long tried, long failed, long fenced, int wrong, Map<String, Long> failures) {
        static final Tally NONE = new Tally(0, 0, 0, 0, Map.of());

        Tally minus(Tally before) {
            Map<String, Long> since = new TreeMap<>(failures);
            before.failures.forEach((what, count) -> since.merge(what, -count, Long::sum));
            since.values().removeIf(count -> count == 0);
            return new Tally(
                    tried - before.tried, failed - before.failed, fenced - before.fenced, wrong - before.wrong, since);
        }
    }

    Tally tally() {
        return new Tally(tried.get(), failed.get(), fenced.get(), wrong.size(), failures());
    }

    /** Descriptions of the first {@value #WRONG_MAX} violations. */
    List<String> wrong() {
        return List.copyOf(wrong);
    }

    /** The allowed exceptions, with their counts. */
    Map<String, Long> failures() {
        Map<String, Long> counts = new TreeMap<>();
        failures.forEach((what, count) -> counts.put(what, count.get()));
        return counts;
    }

    /** The additions to the counter of a chunk. */
    Range counter(int chunk) {
        return counters[chunk];
    }

    /** The additions to the word under the lock. */
    Range locked() {
        return locked;
    }

    /** The largest fencing token of the lock so far. */
    synchronized long newestToken() {
        return newestToken;
    }

    /** Whether the holder of the lock with this token may write, because no holder had a larger token before. */
    synchronized boolean isNewest(long token) {
        if (token == newestToken) {
            report("two holders of the lock have the token %d".formatted(token));
        }
        if (token < newestToken) {
            fenced.incrementAndGet();
            return false;
        }
        newestToken = token;
        return true;
    }

    /** Runs an operation; returns whether it succeeded. */
    boolean attempt(String what, int node, Runnable operations) {
        tried.incrementAndGet();
        try {
            operations.run();
            return true;
        } catch (LiteException e) {
            failed.incrementAndGet();
            failures.computeIfAbsent(what + ": " + e.getClass().getSimpleName(), any -> new AtomicLong())
                    .incrementAndGet();
            return false;
        } catch (RuntimeException | AssertionError e) {
            report("%s at node-%d: %s".formatted(what, node, e));
            return false;
        }
    }

    /** Executes one operation, which must end within the limit, whether it succeeds or fails. */
    void inTime(String what, int node, Runnable operation) {
        long startNs = System.nanoTime();
        try {
            operation.run();
        } finally {
            Duration took = Duration.ofNanos(System.nanoTime() - startNs);
            if (took.compareTo(limit) > 0) {
                report("%s at node-%d took %d ms; the limit is %s".formatted(what, node, took.toMillis(), limit));
            }
        }
    }

    void expect(Range range, long value, String what) {
        if (!range.allows(value)) {
            report("%s is %d; it must be %s".formatted(what, value, range));
        }
    }

    void report(String what) {
        if (wrong.size() < WRONG_MAX) {
            wrong.add(what);
        }
    }
}

package dev.lite.bench.load;

import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One thread for each operation repeats it as fast as it completes. Each run has new threads; at its begin an unmeasured
 * part lets them find their pace.
 */
final class ClosedLoop {
    private static final Duration END = Duration.ofSeconds(30);
    private static final int RAMP_PART = 5;
    private static final int RAMPING = 0;
    private static final int MEASURING = 1;
    private static final int STOPPED = 2;
    private static final double SECOND_NS = 1e9;

    private final List<Operation> operations;
    private final boolean virtual;
    private final Duration end;
    private volatile int phase;
    private volatile @Nullable Throwable failure;

    ClosedLoop(List<Operation> operations, boolean virtual) {
        this(operations, virtual, END);
    }

    /** @param end how long the operations may take to end after a run */
    ClosedLoop(List<Operation> operations, boolean virtual, Duration end) {
        this.operations = operations;
        this.virtual = virtual;
        this.end = end;
    }

    /**
     * Runs once. After a failed run there is no other one: a thread that did not end would share its operation
     * with the next one.
     *
     * @throws IllegalStateException when an operation failed or did not end, now or in an earlier run
     */
    Sample run(long ns) {
        requireNoFailure();
        phase = RAMPING;
        List<Latencies> latencies = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (Operation operation : operations) {
            Latencies mine = new Latencies();
            latencies.add(mine);
            Thread.Builder builder =
                    virtual ? Thread.ofVirtual() : Thread.ofPlatform().daemon();
            threads.add(builder.name("caller-" + threads.size()).unstarted(() -> repeat(operation, mine)));
        }
        threads.forEach(Thread::start);
        sleep(ns / RAMP_PART);
        long beginNs = System.nanoTime();
        phase = MEASURING;
        sleep(ns);
        phase = STOPPED;
        long tookNs = System.nanoTime() - beginNs;
        join(threads);
        requireNoFailure();
        return sample(latencies, tookNs);
    }

    private void requireNoFailure() {
        Throwable failed = failure;
        if (failed != null) {
            throw new IllegalStateException("an operation failed: " + failed, failed);
        }
    }

    private void repeat(Operation operation, Latencies latencies) {
        try {
            operation.begin();
            long nowNs = System.nanoTime();
            int now = phase;
            do { // at least once, also if this thread starts late
                long beganNs = operation.run(nowNs);
                nowNs = System.nanoTime();
                if (now == MEASURING && beganNs != Operation.UNCOUNTED) {
                    latencies.add(nowNs - beganNs);
                }
                now = phase;
            } while (now != STOPPED);
            operation.end();
        } catch (RuntimeException | Error e) {
            failure = e;
        }
    }

    private void sleep(long ns) {
        Polling.until(() -> failure != null, Deadline.in(Duration.ofNanos(ns)), ns);
    }

    private void join(List<Thread> threads) {
        Deadline deadline = Deadline.in(end);
        try {
            for (Thread thread : threads) {
                if (!thread.join(deadline.remaining())) {
                    IllegalStateException hangs = new IllegalStateException("%s did not end within %s, in %s"
                            .formatted(thread.getName(), end, Arrays.toString(thread.getStackTrace())));
                    failure = hangs;
                    throw hangs;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    private static Sample sample(List<Latencies> latencies, long tookNs) {
        Latencies all = new Latencies();
        latencies.forEach(all::add);
        long least = latencies.stream().mapToLong(Latencies::count).min().orElse(0);
        double mean = (double) all.count() / latencies.size();
        return new Sample(
                quantile(all, 0.5),
                quantile(all, 0.99),
                quantile(all, 0.999),
                all.count() * SECOND_NS / tookNs,
                all.count() == 0 ? 0 : least / mean);
    }

    /** Infinite without operations: a run in which none completed must not look fast in the medians of all runs. */
    private static double quantile(Latencies all, double share) {
        return all.count() == 0 ? Double.POSITIVE_INFINITY : all.quantile(share);
    }
}

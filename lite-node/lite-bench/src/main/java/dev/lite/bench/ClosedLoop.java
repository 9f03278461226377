package dev.lite.bench;

import dev.lite.os.waiting.Polling;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** Threads that repeat an operation as fast as it ends. */
final class ClosedLoop {
    private static final long WARM_UP_NS = 2_000_000_000;
    private static final long ROUND_NS = 500_000_000;
    private static final int ROUNDS = 5;

    private ClosedLoop() {}

    /**
     * Medians of rounds.
     *
     * @param perSecond operations of all threads
     * @param slowest the slowest thread's operations, as a share of the mean
     */
    record Rate(double perSecond, double slowest) {}

    /** The rates of both. */
    record Pair(Rate ours, Rate raw) {}

    /**
     * Runs both alternately, each with so many threads.
     *
     * @param ours makes the operation of a thread, given its number from 0
     */
    static Pair compare(int threads, IntFunction<Runnable> ours, IntFunction<Runnable> raw) {
        run(threads, raw, WARM_UP_NS);
        run(threads, ours, WARM_UP_NS);
        Rate[] oursRates = new Rate[ROUNDS];
        Rate[] rawRates = new Rate[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            rawRates[round] = run(threads, raw, ROUND_NS);
            oursRates[round] = run(threads, ours, ROUND_NS);
        }
        return new Pair(median(oursRates), median(rawRates));
    }

    private static Rate median(Rate[] rates) {
        return new Rate(
                median(Arrays.stream(rates).mapToDouble(Rate::perSecond).toArray()),
                median(Arrays.stream(rates).mapToDouble(Rate::slowest).toArray()));
    }

    private static double median(double[] values) {
        Arrays.sort(values);
        return values[values.length / 2];
    }

    private static Rate run(int count, IntFunction<Runnable> operation, long ns) {
        long[] operations = new long[count];
        Thread[] threads = new Thread[count];
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        CountDownLatch go = new CountDownLatch(1);
        for (int i = 0; i < count; i++) {
            int own = i;
            Runnable one = operation.apply(i);
            threads[i] = Thread.ofPlatform().daemon().name("closed-loop-" + i).start(() -> {
                try {
                    go.await();
                    operations[own] = repeat(one, ns);
                } catch (InterruptedException | RuntimeException | Error e) {
                    failure.set(e);
                }
            });
        }
        Polling.sleepNs(1_000_000); // so that every thread has reached its latch
        go.countDown();
        for (Thread thread : threads) {
            join(thread);
        }
        if (failure.get() != null) {
            throw new IllegalStateException("an operation failed", failure.get());
        }
        double all = Arrays.stream(operations).sum();
        long least = Arrays.stream(operations).min().orElse(0);
        return new Rate(all * 1e9 / ns, least * count / all);
    }

    /** Checks the clock at each operation: the threads end together, so that the last ones do not run alone. */
    private static long repeat(Runnable one, long ns) {
        long end = System.nanoTime() + ns;
        long done = 0;
        while (System.nanoTime() - end < 0) {
            one.run();
            done++;
        }
        return done;
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }
}

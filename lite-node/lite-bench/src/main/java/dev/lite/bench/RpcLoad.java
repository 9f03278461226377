package dev.lite.bench;

import dev.lite.api.RpcClient;
import dev.lite.os.waiting.Polling;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Several threads call the functions of a pair without a pause: how long a call takes, all threads together; the share of the
 * slowest thread; and how late the latest calls are.
 */
final class RpcLoad {
    private static final long WARM_UP_NS = 3_000_000_000L;
    private static final long ROUND_NS = 300_000_000;
    private static final int ROUNDS = 5;
    private static final int PINGS = 50_000;
    private static final int SAMPLES = 1 << 18;

    private final RpcPair pair;
    private final int functions;
    private final List<Caller> callers = new ArrayList<>();
    private volatile boolean running = true;

    private RpcLoad(RpcPair pair, int functions) {
        this.pair = pair;
        this.functions = functions;
    }

    /**
     * @param callNs median of the rounds: time per call, all callers together
     * @param ringNs the same of the bare ping-pong between the rounds
     * @param slowest calls of the slowest thread divided by the mean
     * @param lateUs the 99.9th percentile of the calls' times
     */
    record Result(double callNs, double ringNs, double slowest, double lateUs) {}

    /** Measures and adds three rows. */
    static void report(BenchReport report, String name, RpcPair pair, int functions, int callers) {
        Result result = new RpcLoad(pair, functions).run(callers);
        String row = "%s-%df-%dc".formatted(name, functions, callers);
        report.add(row, 8, "ns", result.callNs(), result.ringNs());
        report.add(row + "-p99.9", 8, "us", result.lateUs(), result.ringNs() / 1000);
        report.add(row + "-slowest", 8, "share", result.slowest(), 1);
    }

    private Result run(int count) {
        double[] callNs = new double[ROUNDS];
        double[] ringNs = new double[ROUNDS];
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Caller caller = new Caller(i);
            callers.add(caller);
            threads.add(Thread.ofPlatform().start(caller));
        }
        Polling.sleepNs(WARM_UP_NS);
        long[] before = calls();
        for (int round = 0; round < ROUNDS; round++) {
            long done = Arrays.stream(calls()).sum();
            long start = System.nanoTime();
            Polling.sleepNs(ROUND_NS);
            long took = System.nanoTime() - start;
            callNs[round] = took / (double) Math.max(1, Arrays.stream(calls()).sum() - done);
        }
        long[] after = calls();
        running = false;
        threads.forEach(RpcLoad::join);
        for (int round = 0; round < ROUNDS; round++) {
            long start = System.nanoTime();
            pair.pingPong(PINGS);
            ringNs[round] = (System.nanoTime() - start) / (double) PINGS;
        }
        long[] each = new long[count];
        Arrays.setAll(each, i -> after[i] - before[i]);
        double slowest = Arrays.stream(each).min().orElse(0)
                / Math.max(1, Arrays.stream(each).average().orElse(1));
        return new Result(median(callNs), median(ringNs), slowest, latest() / 1000.0);
    }

    private long[] calls() {
        return callers.stream().mapToLong(caller -> caller.calls).toArray();
    }

    private long latest() {
        long[] all = callers.stream()
                .flatMapToLong(caller -> Arrays.stream(caller.tookNs, 0, (int) Math.min(SAMPLES, caller.calls)))
                .sorted()
                .toArray();
        return all.length == 0 ? 0 : all[(int) (all.length * 0.999)];
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** One thread; its calls go to the functions in turns. */
    private final class Caller implements Runnable {
        private final int first;
        /** The last calls. */
        private final long[] tookNs = new long[SAMPLES];

        private volatile long calls; // written by this thread only

        Caller(int first) {
            this.first = first;
        }

        @Override
        public void run() {
            List<RpcClient> clients = new ArrayList<>();
            for (int i = 0; i < functions; i++) {
                clients.add(pair.lite.rpc().bind(RpcPair.SERVER, RpcPair.function(i)));
            }
            try (Arena scope = Arena.ofConfined()) {
                MemorySegment request = scope.allocate(8);
                MemorySegment reply = scope.allocate(8);
                request.set(ValueLayout.JAVA_INT_UNALIGNED, 0, 8);
                long begin = System.nanoTime();
                long done = 0;
                for (int next = first; running; next++) {
                    clients.get(next % functions).call(request, reply, RpcPair.DEADLINE);
                    long end = System.nanoTime();
                    tookNs[(int) done & (SAMPLES - 1)] = end - begin;
                    begin = end;
                    calls = ++done;
                }
            }
        }
    }
}

package dev.lite.bench;

import dev.lite.api.RpcClient;
import dev.lite.os.waiting.Polling;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;

/**
 * CPU time of both processes: per call at 1,000 calls per second (paper §5.3), compared with the call's time when idle; and
 * as a percentage of a core when idle, compared with the target.
 */
final class RpcCpuBench implements BenchMain.Benchmark {
    private static final int CALLS = 3_000;
    private static final long PERIOD_NS = 1_000_000;
    private static final Duration IDLE = Duration.ofSeconds(3);
    private static final double TARGET_PERCENT = 5;

    @Override
    public void run(BenchReport report) {
        try (RpcPair pair = RpcPair.start();
                Arena scope = Arena.ofConfined()) {
            RpcClient client = pair.lite.rpc().bind(RpcPair.SERVER, "echo");
            MemorySegment request = scope.allocate(8);
            MemorySegment reply = scope.allocate(8);
            request.set(ValueLayout.JAVA_INT_UNALIGNED, 0, 8);
            RpcLatencyBench.call(client, request, reply, 20_000);
            long idleStart = cpuNs(pair);
            long start = System.nanoTime();
            pause(start + IDLE.toNanos());
            double idlePercent = 100.0 * (cpuNs(pair) - idleStart) / (System.nanoTime() - start);
            report.add("idle", 0, "percent", idlePercent, TARGET_PERCENT);

            long busyStart = cpuNs(pair);
            long next = System.nanoTime();
            for (int i = 0; i < CALLS; i++) {
                RpcLatencyBench.call(client, request, reply, 1);
                next += PERIOD_NS;
                pause(next);
            }
            double perCallNs = (double) (cpuNs(pair) - busyStart) / CALLS;
            report.add("at-1000-calls-per-second", 8, "ns", perCallNs, idlePercent / 100 * PERIOD_NS);
        }
    }

    private static long cpuNs(RpcPair pair) {
        long own = ProcessHandle.current()
                .info()
                .totalCpuDuration()
                .orElse(Duration.ZERO)
                .toNanos();
        return own + pair.serverCpuNs();
    }

    private static void pause(long untilNs) {
        for (long left = untilNs - System.nanoTime(); left > 0; left = untilNs - System.nanoTime()) {
            Polling.sleepNs(left);
        }
    }
}

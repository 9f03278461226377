package dev.lite.bench;

import dev.lite.bench.callers.CallersBench;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/** Runs one benchmark by name: {@code mvn -Pbench -Dlite.bench=one-sided}. */
public final class BenchMain {
    private static final Map<String, Benchmark> BENCHMARKS = new TreeMap<>(Map.ofEntries(
            Map.entry("allocation", new AllocationBench()),
            Map.entry("lock", new LockBench()),
            Map.entry("memory-ops", new MemoryOpsBench()),
            Map.entry("mr", new MapReduceBench()),
            Map.entry("names", new NamesBench()),
            Map.entry("one-sided", new OneSidedBench()),
            Map.entry("rdma", new RdmaBench()),
            Map.entry("rpc-cpu", new RpcCpuBench()),
            Map.entry("rpc-latency", new RpcLatencyBench()),
            Map.entry("rpc-memory", new RpcMemoryBench()),
            Map.entry("rpc-throughput", new RpcThroughputBench()),
            Map.entry("starter", new StarterBench()),
            Map.entry("tcp", new TcpBench())));

    /** Has a report of its own. */
    private static final String CALLERS = "callers";

    private BenchMain() {}

    /**
     * Runs one benchmark.
     *
     * @param arguments the benchmark's name, and the directory for its CSV file
     */
    public static void main(String[] arguments) {
        String name = arguments.length == 2 ? arguments[0] : "";
        if (name.equals(CALLERS)) {
            CallersBench.run(Path.of(arguments[1]));
            return;
        }
        Benchmark benchmark = BENCHMARKS.get(name);
        if (benchmark == null) {
            System.err.printf(
                    "Unknown benchmark \"%s\"; -Dlite.bench must be \"%s\" or one of %s%n",
                    name, CALLERS, BENCHMARKS.keySet());
            System.exit(2);
            return;
        }
        BenchReport report = new BenchReport(name);
        benchmark.run(report);
        report.finish(Path.of(arguments[1]));
    }

    /** A benchmark, which adds its rows to a report. */
    interface Benchmark {
        void run(BenchReport report);
    }
}

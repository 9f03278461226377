package dev.lite.bench;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/** Runs the benchmark that is named: {@code mvn -Pbench -Dlite.bench=one-sided}. */
public final class BenchMain {
    private static final Map<String, Benchmark> BENCHMARKS = new TreeMap<>(Map.of(
            "allocation", new AllocationBench(),
            "lock", new LockBench(),
            "memory-ops", new MemoryOpsBench(),
            "one-sided", new OneSidedBench(),
            "rdma", new RdmaBench(),
            "rpc-cpu", new RpcCpuBench(),
            "rpc-latency", new RpcLatencyBench(),
            "rpc-memory", new RpcMemoryBench(),
            "rpc-throughput", new RpcThroughputBench(),
            "tcp", new TcpBench()));

    private BenchMain() {}

    /**
     * Runs one benchmark.
     *
     * @param arguments the benchmark's name, and the directory for its CSV file
     */
    public static void main(String[] arguments) {
        String name = arguments.length == 2 ? arguments[0] : "";
        Benchmark benchmark = BENCHMARKS.get(name);
        if (benchmark == null) {
            System.err.printf(
                    "There is no benchmark \"%s\"; -Dlite.bench=NAME takes one of %s%n", name, BENCHMARKS.keySet());
            System.exit(2);
            return;
        }
        BenchReport report = new BenchReport(name);
        benchmark.run(report);
        report.finish(Path.of(arguments[1]));
    }

    /** A benchmark adds its rows to a report. */
    interface Benchmark {
        void run(BenchReport report);
    }
}

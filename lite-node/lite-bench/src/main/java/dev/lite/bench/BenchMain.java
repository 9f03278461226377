package dev.lite.bench;

import dev.lite.bench.callers.CallersBench;
import dev.lite.bench.log.LogBench;
import dev.lite.bench.qos.QosBench;
import dev.lite.bench.qos.ScaleBench;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;

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
            Map.entry("tcp", new TcpBench()),
            Map.entry("ucx", new UcxBench())));

    /** These have reports of their own. */
    private static final Map<String, Consumer<Path>> OTHERS = new TreeMap<>(
            Map.of("callers", CallersBench::run, "log", LogBench::run, "qos", QosBench::run, "scale", ScaleBench::run));

    private BenchMain() {}

    /**
     * Runs one benchmark.
     *
     * @param arguments the benchmark's name, and the directory for its CSV file
     */
    public static void main(String[] arguments) {
        String name = arguments.length == 2 ? arguments[0] : "";
        Consumer<Path> other = OTHERS.get(name);
        if (other != null) {
            other.accept(Path.of(arguments[1]));
            return;
        }
        Benchmark benchmark = BENCHMARKS.get(name);
        if (benchmark == null) {
            System.err.printf(
                    "Unknown benchmark \"%s\"; -Dlite.bench must be one of %s or %s%n",
                    name, OTHERS.keySet(), BENCHMARKS.keySet());
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

package dev.lite.bench.qos;

import static dev.lite.bench.load.Results.number;

import dev.lite.bench.load.ChildProcess;
import dev.lite.bench.load.Place;
import dev.lite.bench.load.Results;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Figure 14: two to eight node processes on this host, connected by TCP over loopback; at each, eight threads write 64 bytes
 * to all others in turn, or call them with 64 bytes and get 8 back. The processes share the processors of this host. So the
 * total cannot grow with the nodes as in the paper. What should stay is the work per second of a processor.
 */
public final class ScaleBench {
    private static final int[] NODES = {2, 3, 4, 6, 8};
    private static final List<String> OPERATIONS = List.of("write", "call");
    private static final int THREADS = 8;
    private static final int RUN_MS = 1500;
    private static final int ROUNDS = 3;
    private static final double MS = 1000;
    private static final double KILO = 1000;
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private ScaleBench() {}

    /** Runs the benchmark and writes {@code scale.csv} into a directory. */
    public static void run(Path directory) {
        Results csv = new Results("scale", "nodes,operation,k_per_second,k_per_processor_second");
        System.out.printf("%n%6s %10s %12s %24s%n", "nodes", "operation", "k/s", "k per processor second");
        for (int nodes : NODES) {
            try (Place place = new Place(Path.of("/dev/shm"))) {
                List<ChildProcess> parties = start(nodes, place.path());
                try {
                    measure(nodes, parties, csv);
                } finally {
                    parties.forEach(ChildProcess::close);
                }
            }
        }
        csv.write(directory);
    }

    private static List<ChildProcess> start(int nodes, Path place) {
        List<ChildProcess> parties = new ArrayList<>();
        List<String> ports = new ArrayList<>();
        for (int number = 0; number < nodes; number++) {
            ChildProcess party = ChildProcess.java(
                    "node-" + number, List.of(), ScaleParty.class, List.of(place.toString(), Integer.toString(number)));
            parties.add(party);
            ports.add(party.answer(TIMEOUT).trim());
        }
        all(parties, "enter " + String.join(" ", ports));
        return parties;
    }

    private static List<String> all(List<ChildProcess> parties, String command) {
        parties.forEach(party -> party.send(command));
        return parties.stream().map(party -> party.answer(TIMEOUT)).toList();
    }

    private static void measure(int nodes, List<ChildProcess> parties, Results csv) {
        for (String operation : OPERATIONS) {
            List<String> unused = all(parties, "run %s %d %d".formatted(operation, THREADS, RUN_MS)); // warms up
            double[] perSecond = new double[ROUNDS];
            double[] perProcessor = new double[ROUNDS];
            for (int round = 0; round < ROUNDS; round++) {
                long beforeNs = processorNs(parties);
                long operations = all(parties, "run %s %d %d".formatted(operation, THREADS, RUN_MS)).stream()
                        .mapToLong(answer -> Long.parseLong(answer.trim()))
                        .sum();
                perSecond[round] = operations / (RUN_MS / MS) / KILO;
                perProcessor[round] = operations / ((processorNs(parties) - beforeNs) / 1e9) / KILO;
            }
            String rate = number(median(perSecond));
            String work = number(median(perProcessor));
            System.out.printf("%6d %10s %12s %24s%n", nodes, operation, rate, work);
            csv.add(Integer.toString(nodes), operation, rate, work);
        }
    }

    private static long processorNs(List<ChildProcess> parties) {
        return parties.stream().mapToLong(party -> party.cpuTime().toNanos()).sum();
    }

    private static double median(double[] values) {
        return IntStream.range(0, values.length)
                .mapToDouble(index -> values[index])
                .sorted()
                .toArray()[values.length / 2];
    }
}

package dev.lite.bench.callers;

import dev.lite.bench.callers.Row.Measured;
import dev.lite.bench.load.BenchZooKeeper;
import dev.lite.bench.load.BusyLoops;
import dev.lite.bench.load.Contender;
import dev.lite.bench.load.Contest;
import dev.lite.bench.load.Place;
import dev.lite.bench.load.Sample;
import dev.lite.os.waiting.Polling;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Callers in one process against a server in another one: LITE attached and embedded, and the peers. All are measured by the
 * same closed loop. The rows of a comparison warm up one after the other, and are then measured alternately {@value #RUNS}
 * times.
 *
 * <p>System properties:
 *
 * <ul>
 *   <li>{@code lite.bench.rows}: a regular expression; takes only rows with such a part of {@code comparison contender: workload}
 *   <li>{@code lite.bench.busy}: the number of busy loops beside
 *   <li>{@code lite.bench.sessions}: the number of other sessions that are attached to each node and idle
 *   <li>{@code lite.bench.milliseconds}: the length of a run; the default is {@value #RUN_MS}
 *   <li>{@code lite.bench.options}: more options for each JVM
 * </ul>
 */
public final class CallersBench implements AutoCloseable {
    private static final int RUNS = 5;
    private static final int RUN_MS = 400;
    /** So long that the compiler has done its work, also for the peers. */
    private static final Duration WARM_UP = Duration.ofSeconds(4);

    private static final long IDLE_NS = 1_000_000_000;
    private static final double PERCENT = 100;

    private final CallersReport report = new CallersReport();
    private final Pattern wanted = Pattern.compile(System.getProperty("lite.bench.rows", ""));
    private final Duration run = Duration.ofMillis(Integer.getInteger("lite.bench.milliseconds", RUN_MS));
    private final Place place = new Place(Path.of("/dev/shm"));
    private final Map<String, Contest> running = new LinkedHashMap<>();
    private final Set<String> skipped = new HashSet<>();
    private @Nullable BenchZooKeeper zooKeeper;
    private boolean idleNoted;

    private CallersBench() {}

    /** Runs all comparisons and writes {@code callers.csv} into the directory. */
    public static void run(Path directory) {
        try (CallersBench bench = new CallersBench();
                BusyLoops loops = new BusyLoops(Integer.getInteger("lite.bench.busy", 0))) {
            bench.report.note("%d processors, load %.1f at the start; %d busy loops; %d idle sessions at each node"
                    .formatted(
                            Runtime.getRuntime().availableProcessors(),
                            ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage(),
                            loops.threads(),
                            Integer.getInteger("lite.bench.sessions", 0)));
            List<Comparison> comparisons = bench.chosen();
            for (int i = 0; i < comparisons.size(); i++) {
                bench.measure(comparisons.get(i));
                bench.endUnused(comparisons.subList(i + 1, comparisons.size()));
            }
            bench.report.finish(directory);
        }
    }

    private List<Comparison> chosen() {
        List<Comparison> chosen = new ArrayList<>();
        for (Comparison comparison : Comparison.all()) {
            List<Row> rows = comparison.rows().stream()
                    .filter(row -> wanted.matcher(
                                    "%s %s: %s".formatted(comparison.title(), row.contender(), row.workload()))
                            .find())
                    .toList();
            if (!rows.isEmpty()) {
                chosen.add(new Comparison(comparison.title(), rows));
            }
        }
        return chosen;
    }

    private void measure(Comparison comparison) {
        Map<Row, List<Sample>> samples = new LinkedHashMap<>();
        for (Row row : comparison.rows()) {
            if (contest(row.contender()) != null && tryRun(row, WARM_UP) != null) {
                samples.put(row, new ArrayList<>());
            }
        }
        if (!idleNoted) {
            idleNoted = true;
            report.note("between runs the processes of all contenders use %.1f %% of a processor".formatted(idle()));
        }
        LongSummaryStatistics cacheLine = new LongSummaryStatistics();
        for (int i = 0; i < RUNS; i++) {
            cacheLine.accept(CacheLine.roundTripNs());
            for (Map.Entry<Row, List<Sample>> each : samples.entrySet()) {
                Sample sample = tryRun(each.getKey(), run);
                if (sample != null) {
                    each.getValue().add(sample);
                }
            }
        }
        List<Measured> measured = new ArrayList<>();
        samples.forEach((row, runs) -> {
            Measured.of(row, runs, RUNS).ifPresent(measured::add);
        });
        report.add(comparison, measured);
        report.note("meanwhile a cache line took %d to %d ns to the other processor and back"
                .formatted(cacheLine.getMin(), cacheLine.getMax()));
    }

    /** What all processes use while nothing runs, in percent of a processor. */
    private static double idle() {
        long beforeNs = cpuNs();
        Polling.sleepNs(IDLE_NS);
        return (cpuNs() - beforeNs) * PERCENT / IDLE_NS;
    }

    private static long cpuNs() {
        return ProcessHandle.current()
                .descendants()
                .map(ProcessHandle::info)
                .mapToLong(info -> info.totalCpuDuration().orElse(Duration.ZERO).toNanos())
                .sum();
    }

    private @Nullable Sample tryRun(Row row, Duration duration) {
        Contest contest = running.get(row.contender());
        if (contest == null) {
            return null;
        }
        try {
            return contest.run(row.workload(), duration);
        } catch (IllegalStateException e) {
            report.note("%s: %s failed: %s".formatted(row.contender(), row.workload(), e.getMessage()));
            return null;
        }
    }

    private @Nullable Contest contest(String name) {
        Contest open = running.get(name);
        if (open != null || skipped.contains(name)) {
            return open;
        }
        Optional<Contender> contender = Contender.named(name);
        String reason = contender
                .map(Contender::unavailable)
                .orElse(Optional.of("its adapter needs the profile bench-peers"))
                .orElse(null);
        if (contender.isEmpty() || reason != null) {
            skipped.add(name);
            report.note("no rows of %s: %s".formatted(name, reason));
            return null;
        }
        try {
            Contest started = new Contest(contender.get(), place.path(), this::zooKeeper);
            running.put(name, started);
            return started;
        } catch (RuntimeException e) {
            skipped.add(name);
            report.note("no rows of %s: it did not start: %s".formatted(name, e));
            return null;
        }
    }

    private String zooKeeper() {
        BenchZooKeeper started = zooKeeper;
        if (started == null) {
            started = new BenchZooKeeper();
            zooKeeper = started;
        }
        return started.connectString();
    }

    private void endUnused(List<Comparison> later) {
        Set<String> used = new HashSet<>();
        later.forEach(comparison -> comparison.rows().forEach(row -> used.add(row.contender())));
        Map<String, Contest> all = new HashMap<>(running);
        all.forEach((name, contest) -> {
            if (!used.contains(name)) {
                contest.close();
                running.remove(name);
            }
        });
    }

    @Override
    public void close() {
        running.values().forEach(Contest::close);
        if (zooKeeper != null) {
            zooKeeper.close();
        }
        place.close();
    }
}

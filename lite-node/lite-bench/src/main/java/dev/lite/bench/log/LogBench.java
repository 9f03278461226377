package dev.lite.bench.log;

import static dev.lite.bench.load.Results.number;

import dev.lite.bench.contenders.BenchManager;
import dev.lite.bench.contenders.BenchNode;
import dev.lite.bench.load.BenchZooKeeper;
import dev.lite.bench.load.ChildProcess;
import dev.lite.bench.load.Place;
import dev.lite.bench.log.LogLoad.Kind;
import dev.lite.bench.log.LogReport.Row;
import dev.lite.os.SharedMemory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Appends to one log by two processes at two nodes (paper §8.1), beside one fetch-add and one copy in memory that the same two processes
 * share. Embedded and attached, over shared memory and over TCP. The rows of a setting warm up one after the other, and then run
 * alternately {@value #RUNS} times; the table has the medians of the sums of both processes, and what the slower one of them did then.
 *
 * <p>System properties: {@code lite.bench.rows}, a regular expression for {@code SETTING LOAD}; {@code lite.bench.milliseconds}.
 */
public final class LogBench {
    private static final int RUNS = 5;
    private static final int RUN_MS = 400;
    private static final int WARM_UP_MS = 1000;
    private static final long RAW_BYTES = 64L << 20;
    private static final int SMALL = 16;
    private static final Duration START = Duration.ofSeconds(60);
    private static final Duration EXTRA = Duration.ofSeconds(60);
    private static final double NS_PER_SECOND = 1e9;
    private static final double KILO = 1e3;
    private static final double MEGA = 1e6;

    private final Pattern wanted = Pattern.compile(System.getProperty("lite.bench.rows", ""));
    private final int runMs = Integer.getInteger("lite.bench.milliseconds", RUN_MS);
    private final LogReport report = new LogReport();

    private LogBench() {}

    /** Runs all settings, and writes the figures and plots into the directory. */
    public static void run(Path directory) {
        LogBench bench = new LogBench();
        System.out.printf(
                "%nlog: two processes, one log; %d processors%n",
                Runtime.getRuntime().availableProcessors());
        try (Place place = new Place(Path.of("/dev/shm"));
                BenchZooKeeper zooKeeper = new BenchZooKeeper()) {
            for (boolean embedded : new boolean[] {true, false}) {
                for (String fabric : List.of("shm", "tcp")) {
                    bench.setting(place.path(), zooKeeper.connectString(), embedded, fabric);
                }
            }
        }
        bench.report.write(directory);
    }

    /** Ordered by size, because each size has a log of its own. */
    private static List<Row> rows(boolean embedded, String fabric) {
        List<Row> rows = new ArrayList<>();
        List<Kind> kinds = List.of(Kind.RAW, Kind.APPEND, Kind.BATCH);
        for (Kind kind : kinds) {
            rows.add(new Row(new LogLoad(kind, SMALL, 1), 1));
            for (int threads : new int[] {1, 2, 4}) {
                rows.add(new Row(new LogLoad(kind, SMALL, threads), 2));
            }
        }
        rows.add(new Row(new LogLoad(Kind.APPEND_64, SMALL, 1), 2));
        rows.add(new Row(new LogLoad(Kind.READ, SMALL, 1), 1));
        for (int bytes : new int[] {64, 256, 1024, 4096}) {
            for (Kind kind : kinds) {
                rows.add(new Row(new LogLoad(kind, bytes, 1), 2));
            }
        }
        boolean isFirst = embedded && fabric.equals("shm");
        return rows.stream()
                .filter(row -> isFirst || row.load().kind() != Kind.RAW || isGoal(row))
                .toList();
    }

    /** The row that every setting measures beside the bare memory. */
    private static boolean isGoal(Row row) {
        return row.load().bytes() == SMALL && row.writers() == 2;
    }

    private void setting(Path root, String zooKeeper, boolean embedded, String fabric) {
        String setting = (embedded ? "embedded " : "attached ") + fabric;
        List<Row> rows = rows(embedded, fabric).stream()
                .filter(row -> wanted.matcher(setting + " " + row).find())
                .toList();
        if (rows.isEmpty()) {
            return;
        }
        Path place = root.resolve(setting.replace(' ', '-'));
        List<BenchNode.Spec> nodes = List.of(
                new BenchNode.Spec(zooKeeper, fabric, place, "node-0", 0, BenchNode.Spec.ENCRYPTED),
                new BenchNode.Spec(zooKeeper, fabric, place, "node-1", 0, BenchNode.Spec.ENCRYPTED));
        List<ChildProcess> processes = new ArrayList<>();
        place.toFile().mkdirs();
        Path raw = place.resolve("raw");
        try (SharedMemory memory = SharedMemory.createFile(raw, RAW_BYTES);
                BenchManager manager = BenchManager.start(nodes.get(0))) {
            assert memory.size() == RAW_BYTES && manager != null;
            List<ChildProcess> parties = start(nodes, raw, embedded, processes);
            measure(setting, rows, parties);
        } finally {
            processes.reversed().forEach(ChildProcess::close);
        }
    }

    private static List<ChildProcess> start(
            List<BenchNode.Spec> nodes, Path raw, boolean embedded, List<ChildProcess> started) {
        List<ChildProcess> parties = new ArrayList<>();
        for (BenchNode.Spec node : nodes) {
            List<String> words = new ArrayList<>(List.of(raw.toString()));
            if (embedded) {
                words.add("embedded");
                words.addAll(node.words());
            } else {
                ChildProcess process = ChildProcess.java(node.name(), List.of(), BenchNode.class, node.words());
                started.add(process);
                process.answer(START);
                words.addAll(List.of("attached", node.socket().toString()));
            }
            ChildProcess party = ChildProcess.java("party at " + node.name(), List.of(), LogParty.class, words);
            started.add(party);
            parties.add(party);
            party.answer(START);
        }
        return parties;
    }

    private void measure(String setting, List<Row> rows, List<ChildProcess> parties) {
        Map<Row, Rate[]> rates = new LinkedHashMap<>();
        for (Row row : rows) {
            open(row, parties);
            once(row, parties, WARM_UP_MS);
            rates.put(row, new Rate[RUNS]);
        }
        for (int run = 0; run < RUNS; run++) {
            for (Row row : rows) {
                open(row, parties);
                Rate[] all = rates.get(row);
                if (all != null) {
                    all[run] = once(row, parties, runMs);
                }
            }
        }
        System.out.printf("%n%-36s %12s %12s %10s %14s%n", setting, "k/s", "lowest k/s", "MB/s", "slower process");
        rates.forEach((row, all) -> {
            Arrays.sort(all, Comparator.comparingDouble(Rate::perSecond));
            Rate median = all[RUNS / 2];
            int entries = row.load().kind() == Kind.APPEND_64 ? 64 : 1;
            System.out.printf(
                    "  %-34s %12s %12s %10s %14s%n",
                    row,
                    number(median.perSecond / KILO),
                    number(all[0].perSecond / KILO),
                    number(median.perSecond * row.load().bytes() * entries / MEGA),
                    number(median.slower / KILO));
            report.add(new LogReport.Figure(setting, row, median.perSecond, all[0].perSecond, median.slower));
        });
    }

    /** Each size of an entry has a log of its own, with segments that suit it. */
    private static void open(Row row, List<ChildProcess> parties) {
        int typical = row.load().bytes() + 8;
        String name = "bench-" + typical;
        parties.forEach(
                party -> { // one after the other
                    party.send("open %s %d".formatted(name, typical));
                    party.answer(EXTRA);
                });
    }

    /** Transactions per second of all processes of a row together. */
    private static Rate once(Row row, List<ChildProcess> parties, int milliseconds) {
        List<ChildProcess> chosen = parties.subList(0, row.processes());
        chosen.forEach(party -> party.send("run %s %d".formatted(row.load().toLine(), milliseconds)));
        double perSecond = 0;
        double slower = Double.MAX_VALUE;
        for (ChildProcess party : chosen) {
            String[] words = party.answer(EXTRA).trim().split(" ", -1);
            double own = Long.parseLong(words[0]) * NS_PER_SECOND / Long.parseLong(words[1]);
            perSecond += own;
            slower = Math.min(slower, own);
        }
        return new Rate(perSecond, slower);
    }

    /**
     * Transactions, or entries that were read, per second.
     *
     * @param slower of the slower process: over TCP, only the other one is at the node that stores the segment
     */
    private record Rate(double perSecond, double slower) {}
}

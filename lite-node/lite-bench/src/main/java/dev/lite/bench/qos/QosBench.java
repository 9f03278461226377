package dev.lite.bench.qos;

import dev.lite.bench.load.ChildProcess;
import dev.lite.bench.load.Place;
import dev.lite.bench.qos.QosReport.Run;
import dev.lite.cluster.qos.QosPolicy.Mode;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Figure 16: the workload of {@link Job} without a policy, with HW_SEP and with SW_PRI, over a shaped TCP link between two
 * processes and over shared memory. The link's rate is such that the link is the bottleneck and not the processors. Under
 * HW_SEP it is divided, as the queue pairs of a card have parts of it: the shares of the policy.
 */
public final class QosBench {
    private static final List<String> WORKLOADS = List.of("high", "both", "many", "low");
    private static final Pattern PLACES = Pattern.compile(System.getProperty("lite.bench.rows", "."));
    private static final List<Integer> LINKS_MEGABITS = List.of(40, 100);
    private static final int ROUNDS = 5;
    private static final int RUN_MS = 2000;
    private static final int RAMP_MS = 500;
    private static final int FAIR_RAMP_MS = 3000;
    private static final int HIGH_PERCENT = 75;
    /** The paper's numbers of requests by this. */
    private static final double TCP_FACTOR = 0.001;

    private static final double SHM_FACTOR = 4;
    private static final int FIGURE_MS = 20_000;
    private static final Duration START = Duration.ofSeconds(60);
    private static final Duration ANSWER = Duration.ofMinutes(2);

    private final QosReport report;
    private final String place;
    private final ChildProcess party;
    private final Map<Mode, Runnable> link;

    /** @param link what to do to the link for each mode; modes that are missing are impossible here */
    private QosBench(QosReport report, String place, ChildProcess party, Map<Mode, Runnable> link) {
        this.report = report;
        this.place = place;
        this.party = party;
        this.link = link;
    }

    /** Runs the benchmark and writes its files into a directory. */
    public static void run(Path directory) {
        QosReport report = new QosReport(directory);
        try (Place place = new Place(Path.of("/dev/shm"))) {
            for (int megabits : LINKS_MEGABITS) {
                if (PLACES.matcher(name(megabits)).find()) {
                    onLink(report, place.path(), megabits);
                }
            }
            if (PLACES.matcher(QosParty.SHM).find()) {
                onSharedMemory(report, place.path());
            }
        }
        report.finish();
    }

    private static String name(int megabits) {
        return "%s-%d".formatted(QosParty.TCP, megabits);
    }

    private static void onLink(QosReport report, Path place, int megabits) {
        ShapedLink.Made made = ShapedLink.make(megabits);
        if (made.link().isEmpty()) {
            report.note("skipped the shaped TCP link: " + made.reason());
            return;
        }
        try (ShapedLink link = made.link().orElseThrow();
                ChildProcess other = onLink(link, place, 1);
                ChildProcess party = onLink(link, place, 0)) {
            String ready = other.answer(START) + party.answer(START);
            assert ready.isBlank();
            Map<Mode, Runnable> changes = new EnumMap<>(Map.of(
                    Mode.OFF, link::share,
                    Mode.HW_SEP, () -> link.divide(QosParty.PORT, HIGH_PERCENT),
                    Mode.SW_PRI, link::share));
            report.note("TCP over a link of %d Mbit/s each way, in MB/s".formatted(megabits));
            QosBench bench = new QosBench(report, name(megabits), party, changes);
            bench.table();
            bench.fairness();
            bench.figure(TCP_FACTOR);
        }
    }

    private static ChildProcess onLink(ShapedLink link, Path place, int number) {
        return ChildProcess.java(
                link.side(number).by(),
                "node-" + number,
                List.of(),
                QosParty.class,
                List.of(
                        QosParty.TCP,
                        place.resolve("%d-%d".formatted(link.megabits(), number))
                                .toString(),
                        Integer.toString(number),
                        link.side(0).address(),
                        link.side(1).address()));
    }

    private static void onSharedMemory(QosReport report, Path place) {
        try (ChildProcess party = ChildProcess.java(
                "nodes",
                List.of(),
                QosParty.class,
                List.of(QosParty.SHM, place.resolve("shm").toString()))) {
            String ready = party.answer(START);
            assert ready.isBlank();
            report.note("shared memory, in MB/s; no HW_SEP: it has no lanes to reserve");
            Map<Mode, Runnable> changes = Map.of(Mode.OFF, () -> {}, Mode.SW_PRI, () -> {});
            QosBench bench = new QosBench(report, QosParty.SHM, party, new EnumMap<>(changes));
            bench.table();
            bench.fairness();
            bench.figure(SHM_FACTOR);
        }
    }

    private Map<String, Load.Outcome> ask(String command) {
        party.send(command);
        return QosParty.parse(party.answer(ANSWER));
    }

    private Map<String, Load.Outcome> run(String workload) {
        return ask("run %s %d %d".formatted(workload, RAMP_MS, RAMP_MS + RUN_MS));
    }

    private void change(Mode mode) {
        link.getOrDefault(mode, () -> {}).run();
        party.send("policy " + mode);
        String unused = party.answer(ANSWER);
    }

    /** All rows run in turn, so that other load on the machine meets all of them. */
    private void table() {
        change(Mode.OFF);
        for (String workload : WORKLOADS) {
            Map<String, Load.Outcome> warm = run(workload);
            assert !warm.isEmpty();
        }
        List<Run> runs = new ArrayList<>();
        for (int round = 0; round < ROUNDS; round++) {
            for (String workload : WORKLOADS) {
                for (Mode mode : link.keySet()) {
                    change(mode);
                    runs.add(new Run(mode, workload, run(workload)));
                }
            }
        }
        change(Mode.OFF);
        report.table(place, RUN_MS, runs);
        report.lowShares(place, runs);
    }

    private void fairness() {
        for (Mode mode : List.of(Mode.OFF, Mode.SW_PRI)) {
            change(mode);
            for (String workload : List.of("equals-high", "equals-low")) {
                for (int round = 0; round < (mode == Mode.OFF ? 1 : ROUNDS); round++) {
                    report.fairness(
                            place,
                            mode,
                            workload,
                            RUN_MS,
                            ask("run %s %d %d".formatted(workload, FAIR_RAMP_MS, FAIR_RAMP_MS + RUN_MS)));
                }
            }
        }
        change(Mode.OFF);
    }

    private void figure(double factor) {
        for (Mode mode : link.keySet()) {
            change(mode);
            report.figure(place, mode, ask("figure %s %d".formatted(factor, FIGURE_MS)));
        }
        change(Mode.OFF);
    }
}

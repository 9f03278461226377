package dev.lite.demo;

import dev.lite.local.LocalCluster;
import dev.lite.local.LocalClusterBuilder;
import dev.lite.local.LocalProcess;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** One run of the demo on a cluster of its own. */
final class DemoRun implements ClusterProgram {

    private static final String STORE = "store";
    private static final String COMPARE = "compare";
    private static final List<String> ROLES = List.of(STORE, COMPARE, "serve");
    private static final int NODES = ROLES.size();
    private static final String PREFIX = "[demo] ";
    /** The exit status of an application that finished its work and found a difference, listed in its results. */
    private static final int STATUS_DIFFERENT = 3;

    private final DemoSettings settings;
    private final PrintStream out;
    private final Map<String, String> tokens = new LinkedHashMap<>(); // role → token; one at each node, in this order
    private volatile boolean interrupted;

    DemoRun(DemoSettings settings, PrintStream out) {
        this.settings = settings;
        this.out = out;
        for (String role : ROLES) {
            tokens.put(role, Applications.token());
        }
    }

    @Override
    public void interrupted() {
        interrupted = true;
    }

    /** Runs the demo and prints the report. Returns true if every comparison held. Stops the cluster unless it is to be kept. */
    @Override
    public boolean run() {
        long arenaBytes = ArenaSpace.arenaBytes(settings.bytes(), NODES);
        ArenaSpace.check(settings.file(), arenaBytes * NODES);
        print("LITE: a real file in remote memory");
        print("  file      %s, %s".formatted(settings.file(), Sizes.of(settings.bytes())));
        LocalClusterBuilder builder = LocalCluster.builder()
                .name("demo-" + ProcessHandle.current().pid())
                .jars(settings.managerJar(), settings.nodeJar())
                .nodes(NODES)
                .arenaBytes(arenaBytes)
                .fabrics(settings.fabric())
                .nodeProperty(
                        "lite.node.drain-timeout", "0s") // all nodes stop together, so there is no node to drain to
                .tied(!settings.keep());
        tokens.forEach((role, token) -> builder.principal("demo-" + role, token));
        try (LocalCluster cluster = builder.build()) {
            print("  cluster   %s: a manager with ZooKeeper, %d nodes with arenas of %s in %s, connected by %s"
                    .formatted(
                            cluster.name(), NODES, Sizes.of(arenaBytes), cluster.arenaDirectory(), settings.fabric()));
            cluster.up(this::print); // as "lite up" does
            Report report = report(cluster);
            out.print(report.text());
            print("");
            print(report.allHeld() ? "Every comparison held." : "NOT every comparison held.");
            if (settings.keep()) {
                keep(cluster);
            } else {
                print("Stopping the cluster.");
            }
            return report.allHeld();
        }
    }

    private Report report(LocalCluster cluster) {
        String words = WordCount.rule();
        print("Starting the applications");
        List<LocalProcess> applications = new ArrayList<>();
        int node = 1;
        for (String role : tokens.keySet()) {
            applications.add(startApplication(cluster, role, node++, words));
        }
        awaitAll(applications);
        print("Counting words by wc -w");
        OptionalLong wordsOfWc = WordCount.of(settings.file(), settings.bytes());
        return new Report(
                settings, Findings.read(result(cluster, STORE)), Findings.read(result(cluster, COMPARE)), wordsOfWc);
    }

    private static Path result(LocalCluster cluster, String role) {
        return cluster.workDirectory().resolve(role + ".properties");
    }

    private LocalProcess startApplication(LocalCluster cluster, String role, int node, String words) {
        List<String> arguments = new ArrayList<>(List.of(
                "--spring.application.name=demo-" + role,
                "--lite.client.socket=" + cluster.socket(node),
                "--lite.client.token=" + tokens.get(role),
                "--lite.client.deadline=30s",
                "--lite.demo.role=" + role,
                "--lite.demo.file=" + settings.file(),
                "--lite.demo.result=" + result(cluster, role),
                "--lite.demo.words=" + words,
                "--lite.demo.keep=" + settings.keep()));
        LocalProcess started = cluster.startApplication(role, settings.appJar(), arguments, this::relay);
        print("  %-9s process %d, attached to %s".formatted(role, started.pid(), LocalCluster.nodeName(node)));
        return started;
    }

    /** Fails if an application fails. The applications themselves notice when one of them dies. */
    private static void awaitAll(List<LocalProcess> applications) {
        List<LocalProcess> running = new ArrayList<>(applications);
        while (!running.isEmpty()) {
            running.removeIf(application -> Applications.endedWell(application, status -> status == STATUS_DIFFERENT));
        }
    }

    private void relay(String line) {
        if (line.startsWith(PREFIX) && !interrupted) {
            print("  " + line.substring(PREFIX.length()));
        }
    }

    private void keep(LocalCluster cluster) {
        List<LocalProcess> processes =
                cluster.processes().stream().filter(LocalProcess::isAlive).toList();
        Path stop = cluster.detach();
        print("");
        print("The cluster keeps running. To inspect it:");
        for (LocalProcess process : processes) {
            print("  %-9s process %d, health: curl -s %s"
                    .formatted(process.name(), process.pid(), process.health().orElse("(none)")));
        }
        print("  logs      %s".formatted(cluster.workDirectory().resolve("logs")));
        print("  arenas    %s".formatted(cluster.arenaDirectory()));
        print("To attach your own application: --lite.client.socket=%s --lite.client.token=%s"
                .formatted(cluster.socket(1), tokens.get(STORE)));
        print("To stop it and remove everything:");
        print("  sh %s".formatted(stop));
    }

    private void print(String line) {
        out.println(line);
        out.flush();
    }
}

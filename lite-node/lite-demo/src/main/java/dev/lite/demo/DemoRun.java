package dev.lite.demo;

import dev.lite.local.LocalCluster;
import dev.lite.local.LocalProcess;
import java.io.PrintStream;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** One run of the demo on a cluster of its own. */
final class DemoRun {

    private static final String STORE = "store";
    private static final String COMPARE = "compare";
    private static final List<String> ROLES = List.of(STORE, COMPARE, "serve");
    private static final int NODES = ROLES.size();
    private static final String PREFIX = "[demo] ";
    /** How an application ends that did its work and found a difference; its results name it. */
    private static final int STATUS_DIFFERENT = 3;

    private static final Duration LOOK = Duration.ofMillis(100);

    private final DemoSettings settings;
    private final PrintStream out;
    private final Map<String, String> tokens = new LinkedHashMap<>(); // role → token; one at each node, in this order
    private volatile boolean interrupted;

    DemoRun(DemoSettings settings, PrintStream out) {
        this.settings = settings;
        this.out = out;
        for (String role : ROLES) {
            tokens.put(role, token());
        }
    }

    /** Says nothing more of what the applications say: they are being ended, and will complain. Any thread. */
    void interrupted() {
        interrupted = true;
    }

    /** Runs it and prints the report; true when every comparison held. The cluster is gone then, unless it is to be kept. */
    boolean run() {
        long arenaBytes = ArenaSpace.arenaBytes(settings.bytes(), NODES);
        ArenaSpace.check(settings.file(), arenaBytes * NODES);
        say("LITE: a real file in remote memory");
        say("  file      %s, %s".formatted(settings.file(), Sizes.of(settings.bytes())));
        LocalCluster.Builder builder = LocalCluster.builder()
                .name("demo-" + ProcessHandle.current().pid())
                .jars(settings.managerJar(), settings.nodeJar())
                .nodes(NODES)
                .arenaBytes(arenaBytes)
                .fabrics(settings.fabric())
                .nodeProperty(
                        "lite.node.drain-timeout", "0s") // all nodes end together, so there is nowhere to drain to
                .tied(!settings.keep());
        tokens.forEach((role, token) -> builder.principal("demo-" + role, token));
        try (LocalCluster cluster = builder.build()) {
            say("  cluster   %s: a manager with ZooKeeper, %d nodes with arenas of %s in %s, joined by %s"
                    .formatted(
                            cluster.name(), NODES, Sizes.of(arenaBytes), cluster.arenaDirectory(), settings.fabric()));
            cluster.up(this::say); // as "lite up" does
            Report report = report(cluster);
            out.print(report.text());
            say("");
            say(report.allHeld() ? "Every comparison held." : "NOT every comparison held.");
            if (settings.keep()) {
                keep(cluster);
            } else {
                say("Stopping the cluster.");
            }
            return report.allHeld();
        }
    }

    private Report report(LocalCluster cluster) {
        String words = WordCount.rule();
        say("Starting the applications");
        List<LocalProcess> applications = new ArrayList<>();
        int node = 1;
        for (String role : tokens.keySet()) {
            applications.add(startApplication(cluster, role, node++, words));
        }
        awaitAll(applications);
        say("wc -w");
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
        say("  %-9s process %d, attached to %s".formatted(role, started.pid(), LocalCluster.nodeName(node)));
        return started;
    }

    /** The applications notice by themselves when one of them dies; here it is only watched that none ends badly. */
    private static void awaitAll(List<LocalProcess> applications) {
        List<LocalProcess> running = new ArrayList<>(applications);
        while (!running.isEmpty()) {
            running.removeIf(DemoRun::endedWell);
        }
    }

    private static boolean endedWell(LocalProcess application) {
        OptionalInt status = application.awaitExit(LOOK);
        if (status.isPresent() && status.getAsInt() != 0 && status.getAsInt() != STATUS_DIFFERENT) {
            throw failed(application, status.getAsInt());
        }
        return status.isPresent();
    }

    private static DemoFailedException failed(LocalProcess application, int status) {
        if (status > 128) {
            return new DemoFailedException(
                    "the application %s was ended by signal %d".formatted(application.name(), status - 128));
        }
        return new DemoFailedException("the application %s ended with status %d; the last lines of its log:%n%s"
                .formatted(application.name(), status, application.lastLines()));
    }

    private void relay(String line) {
        if (line.startsWith(PREFIX) && !interrupted) {
            say("  " + line.substring(PREFIX.length()));
        }
    }

    private void keep(LocalCluster cluster) {
        List<LocalProcess> processes =
                cluster.processes().stream().filter(LocalProcess::isAlive).toList();
        Path stop = cluster.detach();
        say("");
        say("The cluster stays up. To look at it:");
        for (LocalProcess process : processes) {
            say("  %-9s process %d, health: curl -s %s"
                    .formatted(process.name(), process.pid(), process.health().orElse("(none)")));
        }
        say("  logs      %s".formatted(cluster.workDirectory().resolve("logs")));
        say("  arenas    %s".formatted(cluster.arenaDirectory()));
        say("To attach an application of yours: --lite.client.socket=%s --lite.client.token=%s"
                .formatted(cluster.socket(1), tokens.get(STORE)));
        say("To stop it and remove everything:");
        say("  sh %s".formatted(stop));
    }

    private static String token() {
        byte[] bytes = new byte[16];
        new SecureRandom().nextBytes(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    private void say(String line) {
        out.println(line);
        out.flush();
    }
}

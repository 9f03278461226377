package dev.lite.demo;

import dev.lite.local.LocalCluster;
import dev.lite.local.LocalProcess;
import java.io.PrintStream;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** One run of the demo on a cluster of its own. */
final class DemoRun {

    private static final int NODES = 3;
    private static final String PREFIX = "[demo] ";
    /** How an application ends that did its work and found a difference; its results name it. */
    private static final int STATUS_DIFFERENT = 3;

    private static final Duration LOOK = Duration.ofMillis(100);

    private final DemoSettings settings;
    private final PrintStream out;
    private final String storeToken = token();
    private final String countToken = token();
    private volatile boolean interrupted;

    DemoRun(DemoSettings settings, PrintStream out) {
        this.settings = settings;
        this.out = out;
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
        try (LocalCluster cluster = LocalCluster.builder()
                .name("demo-" + ProcessHandle.current().pid())
                .jars(settings.managerJar(), settings.nodeJar())
                .nodes(NODES)
                .arenaBytes(arenaBytes)
                .principal("demo-store", storeToken)
                .principal("demo-count", countToken)
                .tied(!settings.keep())
                .build()) {
            say("  cluster   %s: a manager with ZooKeeper, %d nodes with arenas of %s in %s"
                    .formatted(cluster.name(), NODES, Sizes.of(arenaBytes), cluster.arenaDirectory()));
            start(cluster);
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

    private void start(LocalCluster cluster) {
        say("Starting the manager");
        LocalProcess manager = cluster.startManager();
        say("  manager   process %d, ZooKeeper at %s".formatted(manager.pid(), cluster.zookeeper()));
        say("Starting the nodes");
        for (LocalProcess node : cluster.startNodes()) {
            say("  %-9s process %d, socket %s"
                    .formatted(node.name(), node.pid(), node.property("socket").orElse("?")));
        }
    }

    private Report report(LocalCluster cluster) {
        Path storeResult = cluster.workDirectory().resolve("store.properties");
        Path countResult = cluster.workDirectory().resolve("count.properties");
        String words = WordCount.rule();
        say("Starting the applications");
        LocalProcess store = startApplication(cluster, "store", 1, storeToken, storeResult, words);
        LocalProcess count = startApplication(cluster, "count", 2, countToken, countResult, words);
        awaitBoth(store, count);
        say("wc -w");
        OptionalLong wordsOfWc = WordCount.of(settings.file(), settings.bytes());
        return new Report(settings, Findings.read(storeResult), Findings.read(countResult), wordsOfWc);
    }

    private LocalProcess startApplication(
            LocalCluster cluster, String role, int node, String token, Path result, String words) {
        List<String> arguments = new ArrayList<>(List.of(
                "--spring.application.name=demo-" + role,
                "--lite.client.socket=" + cluster.socket(node),
                "--lite.client.token=" + token,
                "--lite.client.deadline=30s",
                "--lite.demo.role=" + role,
                "--lite.demo.file=" + settings.file(),
                "--lite.demo.result=" + result,
                "--lite.demo.words=" + words,
                "--lite.demo.keep=" + settings.keep()));
        LocalProcess started = cluster.startApplication(role, settings.appJar(), arguments, this::relay);
        say("  %-9s process %d, attached to %s".formatted(role, started.pid(), LocalCluster.nodeName(node)));
        return started;
    }

    /** The applications watch each other's progress; here it is only watched that neither ends badly. */
    private static void awaitBoth(LocalProcess store, LocalProcess count) {
        boolean storeEnded = false;
        boolean countEnded = false;
        while (!storeEnded || !countEnded) {
            storeEnded = storeEnded || endedWell(store);
            countEnded = countEnded || endedWell(count);
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
                .formatted(cluster.socket(1), storeToken));
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

package dev.lite.demo;

import dev.lite.demo.Sample.Service;
import dev.lite.local.LocalCluster;
import dev.lite.local.LocalClusterBuilder;
import dev.lite.local.LocalProcess;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Runs samples on a cluster: each of their services is a process, and a principal of its own. One sample at a time. */
final class SampleRun {

    /** Every service has deadlines of its own, which are shorter. */
    private static final Duration DEADLINE = Duration.ofMinutes(5);

    private static final Duration STOP_DEADLINE = Duration.ofSeconds(10);

    private final SampleSettings settings;
    private final Map<String, String> tokens = new LinkedHashMap<>(); // by principal
    private volatile boolean interrupted;

    SampleRun(SampleSettings settings) {
        this.settings = settings;
        Sample.ALL.stream()
                .flatMap(sample -> sample.services().stream())
                .forEach(service -> tokens.computeIfAbsent(service.profile(), profile -> Applications.token()));
    }

    /** A builder of a cluster for all samples. */
    LocalClusterBuilder cluster() {
        LocalClusterBuilder builder = LocalCluster.builder()
                .jars(settings.managerJar(), settings.nodeJar())
                .nodes(Sample.NODES)
                // All nodes stop together, so there is no node to drain to.
                .nodeProperty("lite.node.drain-timeout", "0s")
                // Samples run too briefly to benefit from the second compiler.
                .applicationJavaOption("-XX:TieredStopAtLevel=1");
        tokens.forEach(builder::principal);
        return builder;
    }

    /** Stops passing on what the services print. Any thread. */
    void interrupted() {
        interrupted = true;
    }

    /**
     * Starts the services of a sample, all at the same time, waits for the end of those that end by themselves, and stops the others.
     *
     * @param cluster runs
     * @param lines receives what the services print, on threads of their own
     * @throws DemoFailedException when a service fails, ends although it should serve, or does not end within 5 minutes
     */
    void run(Sample sample, LocalCluster cluster, Consumer<String> lines) {
        long startNs = System.nanoTime();
        List<LocalProcess> ending = new ArrayList<>();
        List<LocalProcess> serving = new ArrayList<>();
        try {
            for (Service service : sample.services()) {
                LocalProcess started = start(service, settings.jar(sample), cluster, lines);
                (service.ends() ? ending : serving).add(started);
            }
            while (!ending.isEmpty()) {
                ending.removeIf(process -> Applications.endedWell(process, status -> false));
                serving.forEach(SampleRun::requireRunning);
                if (System.nanoTime() - startNs > DEADLINE.toNanos()) {
                    throw new DemoFailedException("%s did not end within %d minutes"
                            .formatted(ending.stream().map(LocalProcess::name).toList(), DEADLINE.toMinutes()));
                }
            }
        } finally {
            serving.forEach(process -> process.stop(STOP_DEADLINE));
        }
    }

    private LocalProcess start(Service service, Path jar, LocalCluster cluster, Consumer<String> lines) {
        String name = service.processName();
        List<String> arguments = List.of(
                "--spring.profiles.active=" + service.profile(),
                "--spring.application.name=" + name,
                "--lite.client.socket=" + cluster.socket(service.node()),
                "--lite.client.token=" + tokens.get(service.profile()));
        LocalProcess started = cluster.startApplication(name, jar, arguments, line -> {
            if (!interrupted) {
                lines.accept("%-13s | %s".formatted(name, line));
            }
        });
        lines.accept("%-13s | process %d, attached to %s"
                .formatted(name, started.pid(), LocalCluster.nodeName(service.node())));
        return started;
    }

    private static void requireRunning(LocalProcess process) {
        if (Applications.endedWell(process, status -> false)) {
            throw new DemoFailedException(
                    "the application %s ended, although it should serve; the last lines of its log:%n%s"
                            .formatted(process.name(), process.lastLines()));
        }
    }
}

package dev.lite.demo;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.demo.example.LogExample;
import dev.lite.demo.example.MrExample;
import dev.lite.local.LocalCluster;
import dev.lite.log.LogException;
import dev.lite.mr.MrException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.function.Consumer;

/**
 * Runs one example on a cluster of its own; this process attaches to each of its nodes. The exit status is 0 only if the example succeeded.
 */
public final class ExampleMain implements ClusterProgram {
    /** The names of the examples. */
    static final List<String> NAMES = List.of("log", "mr");

    private static final int NODES_LOG = 3;
    private static final int NODES_MR = 2;
    private static final int RESTARTED = 2;
    private static final Duration DEADLINE = Duration.ofSeconds(30);
    private static final long ARENA_BYTES = 256L << 20;
    private static final int TEXT_BYTES = 16 << 20;

    private final String name;
    private final String file;
    private final int nodes;
    private final Path managerJar;
    private final Path nodeJar;
    private final PrintStream out;

    ExampleMain(Properties properties, PrintStream out) {
        name = properties.getProperty("lite.example", "");
        file = properties.getProperty("lite.example.file", "");
        if (!NAMES.contains(name)) {
            throw new DemoFailedException("lite.example is \"%s\"; it must be one of %s".formatted(name, NAMES));
        }
        nodes = name.equals("log") ? NODES_LOG : NODES_MR;
        managerJar = jar(properties, "lite.demo.manager-jar");
        nodeJar = jar(properties, "lite.demo.node-jar");
        this.out = out;
    }

    private static Path jar(Properties properties, String key) {
        String value = properties.getProperty(key, "");
        if (value.isBlank()) {
            throw new DemoFailedException(
                    "%s is not set; start an example with: mvn -Pexample -Dlite.example=NAME".formatted(key));
        }
        return Path.of(value).normalize();
    }

    /** No arguments; the settings are system properties, see the module's pom.xml. */
    public static void main(String[] arguments) {
        ClusterProgram.main("The example", out -> new ExampleMain(System.getProperties(), out));
    }

    @Override
    public boolean run() {
        try (LocalCluster cluster = LocalCluster.builder()
                .name("example-" + ProcessHandle.current().pid())
                .jars(managerJar, nodeJar)
                .nodes(nodes)
                .arenaBytes(ARENA_BYTES)
                .retainArenas(true)
                // All nodes stop together, so there is no node to drain to.
                .nodeProperty("lite.node.drain-timeout", "0s")
                .build()) {
            cluster.up(this::print);
            List<Lite> sessions = new ArrayList<>();
            try {
                for (int node = 1; node <= nodes; node++) {
                    sessions.add(Lite.attach(Lite.AttachOptions.to(cluster.socket(node), "example")
                            .withReattach(true)
                            .withDeadline(DEADLINE)));
                }
                example(cluster, sessions).run();
            } catch (LiteException | LogException | MrException e) {
                throw new DemoFailedException("%s: %s".formatted(e.getClass().getSimpleName(), e.getMessage()));
            } finally {
                sessions.forEach(Lite::close);
            }
            print("Stopping the cluster.");
        }
        return true;
    }

    private Runnable example(LocalCluster cluster, List<Lite> sessions) {
        Consumer<String> lines = line -> print("  " + line);
        if (name.equals("log")) {
            return new LogExample(sessions, () -> restart(cluster), lines)::run;
        }
        Path text =
                file.isBlank() ? SampleText.write(TEXT_BYTES) : Path.of(file).toAbsolutePath();
        return new MrExample(sessions.getFirst(), List.of(cluster.socket(1), cluster.socket(2)), List.of(text), lines)
                ::run;
    }

    private void restart(LocalCluster cluster) {
        cluster.kill(RESTARTED);
        cluster.startNode(RESTARTED);
        print("  Killed node-%d, and started it again".formatted(RESTARTED));
    }

    @Override
    public void interrupted() {
        // The example prints nothing while the cluster stops.
    }

    private void print(String line) {
        synchronized (out) {
            out.println(line);
            out.flush();
        }
    }
}

package dev.lite.cli;

import dev.lite.local.LocalCluster;
import dev.lite.local.LocalClusterBuilder;
import dev.lite.local.LocalProcess;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Commands that start and stop a cluster on this machine. */
final class LocalCommands {
    private static final String NAME_DEFAULT = "local";

    private LocalCommands() {}

    private static void print(PrintWriter out, String line) {
        out.println(line);
        out.flush();
    }

    /** {@code lite prepare}. */
    @Command(
            name = "prepare",
            description =
                    "Makes the class caches with which manager and node start faster. \"up\" does it when they are missing.",
            mixinStandardHelpOptions = true)
    static final class Prepare implements Callable<Integer> {
        @Mixin
        private JarOptions jars = new JarOptions();

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            if (spec == null) {
                throw new IllegalStateException("picocli did not set the command spec");
            }
            PrintWriter out = spec.commandLine().getOut();
            return jars.prepare(line -> print(out, line)) ? ExitStatus.OK : ExitStatus.FAILED;
        }
    }

    /** {@code lite up}. */
    @Command(
            name = "up",
            description =
                    "Starts a cluster on this machine: a manager with ZooKeeper, and nodes. It keeps running until \"lite down\".",
            mixinStandardHelpOptions = true)
    static final class Up implements Callable<Integer> {
        private static final Pattern SIZE = Pattern.compile("(\\d{1,12})(B|KB|MB|GB)?", Pattern.CASE_INSENSITIVE);

        @Option(
                names = {"-n", "--nodes"},
                paramLabel = "N",
                defaultValue = "3",
                description = "The number of nodes, 1 to 64. Default: ${DEFAULT-VALUE}")
        private int nodes = 3;

        @Option(
                names = "--name",
                paramLabel = "NAME",
                defaultValue = NAME_DEFAULT,
                description = "The cluster's name. Default: ${DEFAULT-VALUE}")
        private String name = NAME_DEFAULT;

        @Option(
                names = "--arena",
                paramLabel = "SIZE",
                defaultValue = "64MB",
                description = "The memory of each node, in /dev/shm, for example 1GB. Default: ${DEFAULT-VALUE}")
        private String arena = "64MB";

        @Option(
                names = "--fabric",
                paramLabel = "FABRIC",
                defaultValue = "shm",
                description = "The fabric between the nodes: shm or tcp. Default: ${DEFAULT-VALUE}")
        private String fabric = "shm";

        @Mixin
        private JarOptions jars = new JarOptions();

        @Option(names = "--json", description = "Prints JSON")
        private boolean json;

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            if (spec == null) {
                throw new IllegalStateException("picocli did not set the command spec");
            }
            LocalClusterBuilder builder = LocalCluster.builder()
                    .name(name)
                    .jars(jars.manager(), jars.node())
                    .nodes(nodes)
                    .arenaBytes(bytes(arena))
                    .fabrics(fabric)
                    // "down" stops all nodes, so there is no node left to move memory to.
                    .nodeProperty("lite.node.drain-timeout", "0s")
                    .tied(false);
            PrintWriter out = spec.commandLine().getOut();
            PrintWriter progress = json ? spec.commandLine().getErr() : out;
            jars.prepare(line -> print(progress, line));
            LocalClusters clusters = LocalClusters.here();
            clusters.reserve(name);
            boolean isUp = false;
            try (LocalCluster cluster = builder.build()) {
                cluster.up(line -> print(progress, line));
                ObjectNode description = describe(cluster);
                String stop = cluster.detach().toString();
                isUp = true;
                Map<String, String> noted = new LinkedHashMap<>();
                noted.put(LocalClusters.URL, description.path("url").asString());
                noted.put(LocalClusters.STOP, stop);
                clusters.write(name, noted);
                if (json) {
                    out.println(description.toPrettyString());
                } else {
                    print(
                            out,
                            "The cluster \"%s\" is running; its manager: %s"
                                    .formatted(name, noted.get(LocalClusters.URL)));
                    print(out, "To stop it: lite down" + (name.equals(NAME_DEFAULT) ? "" : " --name " + name));
                }
                out.flush();
            } finally {
                if (!isUp) {
                    clusters.remove(name);
                }
            }
            return ExitStatus.OK;
        }

        private static ObjectNode describe(LocalCluster cluster) {
            ObjectNode description = ManagerClient.JSON.createObjectNode();
            description.put("name", cluster.name());
            description.put("url", cluster.manager().property("url").orElse(""));
            description.put("zookeeper", cluster.zookeeper());
            ArrayNode processes = description.putArray("processes");
            for (LocalProcess process : cluster.processes()) {
                ObjectNode entry =
                        processes.addObject().put("name", process.name()).put("pid", process.pid());
                process.property("socket").ifPresent(socket -> entry.put("socket", socket));
                process.health().ifPresent(health -> entry.put("health", health));
            }
            return description;
        }

        private static long bytes(String size) {
            Matcher matcher = SIZE.matcher(size);
            if (!matcher.matches()) {
                throw new IllegalArgumentException(
                        "--arena is \"%s\"; it must be a number followed by B, KB, MB or GB".formatted(size));
            }
            long number = Long.parseLong(matcher.group(1));
            String unit = matcher.group(2);
            return switch (unit == null ? "b" : unit.toLowerCase(java.util.Locale.ROOT)) {
                case "kb" -> Math.multiplyExact(number, 1L << 10);
                case "mb" -> Math.multiplyExact(number, 1L << 20);
                case "gb" -> Math.multiplyExact(number, 1L << 30);
                default -> number;
            };
        }
    }

    /** {@code lite down}. */
    @Command(
            name = "down",
            description = "Stops a cluster started by \"up\", and removes its memory, logs and directories.",
            mixinStandardHelpOptions = true)
    static final class Down implements Callable<Integer> {
        /** Each of at most 65 processes gets 15 s to stop before SIGKILL. */
        private static final long DEADLINE_SECONDS = 1200;

        @Option(
                names = "--name",
                paramLabel = "NAME",
                defaultValue = NAME_DEFAULT,
                description = "The cluster's name. Default: ${DEFAULT-VALUE}")
        private String name = NAME_DEFAULT;

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            LocalClusters clusters = LocalClusters.here();
            Properties noted = clusters.find(name)
                    .orElseThrow(() -> new CommandFailedException(
                            ExitStatus.FAILED,
                            "no cluster \"%s\" was started here: %s does not exist"
                                    .formatted(name, clusters.file(name))));
            String stop = noted.getProperty(LocalClusters.STOP);
            if (stop == null) {
                throw new CommandFailedException(
                        ExitStatus.FAILED,
                        "the cluster \"%s\" is still being started by process %s; stop that process first"
                                .formatted(name, noted.getProperty("pid")));
            }
            // If the script is missing, everything that it would stop and remove is gone.
            if (Files.exists(Path.of(stop))) {
                run(stop);
            }
            clusters.remove(name);
            if (spec != null) {
                spec.commandLine().getOut().println("The cluster \"%s\" is stopped.".formatted(name));
                spec.commandLine().getOut().flush();
            }
            return ExitStatus.OK;
        }

        private static void run(String script) {
            try {
                Process process =
                        new ProcessBuilder("/bin/sh", script).inheritIO().start();
                if (!process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                    throw new CommandFailedException(
                            ExitStatus.FAILED, "%s did not end within %d s".formatted(script, DEADLINE_SECONDS));
                }
                if (process.exitValue() != 0) {
                    throw new CommandFailedException(
                            ExitStatus.FAILED, "%s ended with status %d".formatted(script, process.exitValue()));
                }
            } catch (IOException e) {
                throw new CommandFailedException(ExitStatus.FAILED, "cannot run %s: %s".formatted(script, e), e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new CommandFailedException(ExitStatus.FAILED, "interrupted", e);
            }
        }
    }
}

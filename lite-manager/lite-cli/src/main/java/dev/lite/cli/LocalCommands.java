package dev.lite.cli;

import dev.lite.local.LocalCluster;
import dev.lite.local.LocalClusterBuilder;
import dev.lite.local.LocalProcess;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Commands that start and stop a cluster on this machine. */
final class LocalCommands {
    private LocalCommands() {}

    /** {@code lite prepare}. */
    @Command(
            name = "prepare",
            description =
                    "Makes the class caches with which manager and node start faster. \"up\" does it when they are missing.",
            mixinStandardHelpOptions = true)
    static final class Prepare extends LocalCommand {
        @Mixin
        private JarOptions jars = new JarOptions();

        @Override
        public Integer call() {
            return jars.prepare(this::print) ? ExitStatus.OK : ExitStatus.FAILED;
        }
    }

    /** {@code lite up}. */
    @Command(
            name = "up",
            description =
                    "Starts a cluster on this machine: a manager with ZooKeeper, and nodes. It keeps running until \"lite down\".",
            mixinStandardHelpOptions = true)
    static final class Up extends LocalCommand.OfCluster {
        private static final int NODES_MAX = 64;
        /** With 4 MiB a node has less than the 2 MiB free that it takes for itself. */
        private static final long ARENA_BYTES_MIN = 5 << 20;

        private static final Set<String> FABRICS = Set.of("shm", "tcp");

        @Option(
                names = {"-n", "--nodes"},
                paramLabel = "N",
                defaultValue = "3",
                description = "The number of nodes, 1 to 64. Default: ${DEFAULT-VALUE}")
        private int nodes = 3;

        @Option(
                names = "--arena",
                paramLabel = "SIZE",
                description =
                        "The memory of each node, in /dev/shm, for example 1GB. Default: 256MB, or less if all nodes would take more than half of the free memory")
        private @Nullable String arena;

        @Option(
                names = "--directory",
                paramLabel = "DIRECTORY",
                description =
                        "The directory for sockets, logs and ZooKeeper's data. Default: NAME in the directory where the cluster is recorded")
        private @Nullable Path directory;

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

        @Override
        public Integer call() {
            String name = name();
            long arenaBytes = checkedArena();
            LocalClusters clusters = LocalClusters.here();
            LocalClusterBuilder builder = LocalCluster.builder()
                    .name(name)
                    .jars(jars.manager(), jars.node())
                    .nodes(nodes)
                    .arenaBytes(arenaBytes)
                    // A node that is restarted has the bytes that it had.
                    .retainArenas(true)
                    .directory(directory == null ? clusters.workDirectory(name) : directory)
                    .fixedPorts(true)
                    .fabrics(fabric)
                    // "down" stops all nodes, so there is no node left to move memory to.
                    .nodeProperty("lite.node.drain-timeout", "0s")
                    .tied(false);
            PrintWriter progress = json ? err() : out();
            if (clusters.removeKilledStart(name)) {
                print(progress, "Removed what was left of a start of this cluster that was killed");
            }
            if (clusters.find(name).isEmpty()) { // else its name is refused, whatever room its arenas leave
                String size = arena == null ? "%dMB by default".formatted(arenaBytes >> 20) : arena;
                ArenaSize.requireRoom(size, arenaBytes, nodes);
            }
            jars.prepare(line -> print(progress, line));
            clusters.reserve(name);
            boolean isUp = false;
            Thread hook = null;
            try (LocalCluster cluster = builder.build()) {
                hook = Thread.ofPlatform().name("lite up stop").unstarted(() -> releaseEnded(clusters, name, cluster));
                Runtime.getRuntime().addShutdownHook(hook);
                Map<String, String> noted = new LinkedHashMap<>();
                noted.put(
                        LocalClusters.DIRECTORY,
                        cluster.workDirectory().toAbsolutePath().toString());
                clusters.write(name, noted);
                cluster.up(line -> print(progress, line));
                ObjectNode description = describe(cluster);
                noted.put(LocalClusters.URL, description.path("url").asString());
                clusters.write(name, noted);
                cluster.detach();
                isUp = true;
                if (json) {
                    print(description.toPrettyString());
                } else {
                    print("The cluster \"%s\" is running; its manager: %s"
                            .formatted(name, noted.get(LocalClusters.URL)));
                    print("Logs: " + cluster.workDirectory().resolve("logs"));
                    print("For an application: eval \"$(lite env" + nameOption() + ")\"");
                    print("To stop it: lite down" + nameOption());
                }
            } finally {
                if (!isUp) {
                    clusters.release(name);
                }
                remove(hook);
            }
            return ExitStatus.OK;
        }

        /**
         * When this JVM ends, such as on Ctrl-C, and the cluster with it: the thread that started it may not
         * come to do that. A cluster that runs is detached, and has the script that stops it.
         */
        private static void releaseEnded(LocalClusters clusters, String name, LocalCluster cluster) {
            cluster.close();
            if (!Files.exists(LocalClusters.stopScript(cluster.workDirectory()))) {
                clusters.release(name);
            }
        }

        private static void remove(@Nullable Thread hook) {
            if (hook != null) {
                try {
                    Runtime.getRuntime().removeShutdownHook(hook);
                } catch (IllegalStateException e) {
                    // The JVM ends: it runs, or has run.
                }
            }
        }

        /** Checks the options, and returns the size of an arena in bytes. */
        private long checkedArena() {
            if (nodes < 1 || nodes > NODES_MAX) {
                throw new IllegalArgumentException("--nodes is %d; it must be 1 to %d".formatted(nodes, NODES_MAX));
            }
            if (!FABRICS.contains(fabric)) {
                throw new IllegalArgumentException("--fabric is \"%s\"; it must be shm or tcp".formatted(fabric));
            }
            long bytes = arena == null ? ArenaSize.fitting(nodes) : ArenaSize.parse(arena);
            if (bytes < ARENA_BYTES_MIN) {
                throw new IllegalArgumentException("--arena is %s; it must be at least 5MB".formatted(arena));
            }
            return bytes;
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
    }

    /** {@code lite down}. */
    @Command(
            name = "down",
            description =
                    "Stops a cluster started by \"up\", also processes of it started by hand, and removes its memory, logs and directories.",
            mixinStandardHelpOptions = true)
    static final class Down extends LocalCommand.OfCluster {
        @Override
        public Integer call() {
            String name = name();
            LocalClusters clusters = LocalClusters.here();
            Properties noted = clusters.require(name);
            if (clusters.isBeingStarted(name)) {
                throw new CommandFailedException(
                        ExitStatus.FAILED,
                        "the cluster \"%s\" is still being started by process %s; stop that process first"
                                .formatted(name, clusters.require(name).getProperty("pid")));
            }
            Path stop = LocalClusters.stopScript(noted);
            // If the script is missing, everything that it would remove is gone.
            if (stop != null && Files.exists(stop)) {
                LocalClusters.stop(stop);
            } else if (stop != null && clusters.detached(name).isRunning()) {
                throw new CommandFailedException(
                        ExitStatus.FAILED,
                        "processes of the cluster \"%s\" run, but %s is missing; stop them by hand"
                                .formatted(name, stop));
            }
            clusters.remove(name, noted);
            print("The cluster \"%s\" is stopped.".formatted(name));
            return ExitStatus.OK;
        }
    }
}

package dev.lite.local;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link LocalCluster} shall be. Made by {@link LocalCluster.Builder}; everything is checked here, before anything
 * is started.
 *
 * @param name the cluster's name, also of its directory in shared memory
 * @param managerJar the executable jar of the manager
 * @param nodeJar the executable jar of the node
 * @param java the java executable that runs them
 * @param nodes how many nodes
 * @param arenaBytes the size of each node's arena
 * @param retainArenas whether a node that is stopped leaves its arena behind for its next start
 * @param sharedMemory the directory that gets the cluster's arenas, in a directory of the cluster's name
 * @param logDirectory where the logs go; they are kept then. Null: in the work directory, and removed with it
 * @param tied whether every process ends by itself when this one is gone
 * @param startDeadline how long a process may take until it is ready
 * @param stopDeadline how long a process may take to end by itself before it is killed
 * @param fabrics what carries data between the nodes, the preferred one first
 * @param principals names and tokens of applications that are told apart by token
 * @param managerJavaOptions more options for every manager's JVM
 * @param nodeJavaOptions more options for every node's JVM
 * @param nodeProperties more properties for every node
 * @param properties more properties for every manager and node
 * @param zookeeper the ZooKeeper to use, {@code host:port[,host:port…]}. Null: the manager has one in it
 */
record LocalClusterConfig(
        String name,
        Path managerJar,
        Path nodeJar,
        Path java,
        int nodes,
        long arenaBytes,
        boolean retainArenas,
        Path sharedMemory,
        @Nullable Path logDirectory,
        boolean tied,
        Duration startDeadline,
        Duration stopDeadline,
        List<String> fabrics,
        Map<String, String> principals,
        List<String> managerJavaOptions,
        List<String> nodeJavaOptions,
        Map<String, String> nodeProperties,
        Map<String, String> properties,
        @Nullable String zookeeper) {

    private static final int NODES_MAX = 64;
    private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9-]{0,39}");

    LocalClusterConfig {
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException(
                    "the cluster's name is \"%s\"; it must be at most 40 small letters, digits and hyphens"
                            .formatted(name));
        }
        if (nodes < 1 || nodes > NODES_MAX) {
            throw new IllegalArgumentException(
                    "%d nodes are asked for; it must be 1 to %d".formatted(nodes, NODES_MAX));
        }
        if (arenaBytes <= 0) {
            throw new IllegalArgumentException("the arena size is %d bytes; it must be positive".formatted(arenaBytes));
        }
        requireFile(managerJar, "the manager's executable jar");
        requireFile(nodeJar, "the node's executable jar");
        requireFile(java, "the java executable");
        fabrics = List.copyOf(fabrics);
        if (fabrics.isEmpty()) {
            throw new IllegalArgumentException("no fabric is named; the nodes need at least one");
        }
        principals = Map.copyOf(new LinkedHashMap<>(principals));
        managerJavaOptions = List.copyOf(managerJavaOptions);
        nodeJavaOptions = List.copyOf(nodeJavaOptions);
        nodeProperties = Map.copyOf(nodeProperties);
        properties = Map.copyOf(properties);
    }

    private static void requireFile(Path file, String what) {
        if (!Files.isRegularFile(file)) {
            throw new IllegalArgumentException("%s is not there: %s; build it by: mvn package".formatted(what, file));
        }
    }

    private List<String> managerCommand(Path readyFile) {
        // It is no part of the data path, and starts faster with the first compiler only.
        List<String> command = jvm("64m", "256m");
        command.add("-XX:TieredStopAtLevel=1");
        command.addAll(managerJavaOptions);
        command.addAll(List.of("-jar", managerJar.toString()));
        addCommon(command, readyFile);
        return command;
    }

    /** The command that starts a manager that uses a ZooKeeper. */
    List<String> managerCommand(Path readyFile, String managerName, String zookeeperOfCluster) {
        List<String> command = managerCommand(readyFile);
        command.add("--lite.cluster.zookeeper=" + zookeeperOfCluster);
        command.add("--lite.manager.name=" + managerName);
        return command;
    }

    /** The command that starts the manager with a ZooKeeper in it. {@code zookeeperPort} is 0 for the first start: any free one. */
    List<String> managerCommand(Path work, Path readyFile, int zookeeperPort) {
        List<String> command = managerCommand(readyFile);
        command.add("--lite.manager.zookeeper.embedded=true");
        command.add("--lite.manager.zookeeper.port=" + zookeeperPort);
        command.add("--lite.manager.zookeeper.data-directory=" + work.resolve("zookeeper"));
        return command;
    }

    /** The command that starts a node. */
    List<String> nodeCommand(Path work, Path readyFile, String nodeName, String zookeeperOfCluster) {
        List<String> command = jvm("64m", "256m");
        command.addAll(nodeJavaOptions);
        command.addAll(List.of("-jar", nodeJar.toString()));
        addCommon(command, readyFile);
        command.add("--lite.cluster.zookeeper=" + zookeeperOfCluster);
        command.add("--lite.node.name=" + nodeName);
        command.add("--lite.node.arena.size=" + arenaBytes + "B");
        command.add("--lite.node.arena.directory=" + sharedMemory);
        command.add("--lite.node.arena.retain=" + retainArenas);
        // A host has one node normally, whose sockets have fixed names: here each gets a directory of its own.
        command.add("--lite.node.run-directory=" + work.resolve("run").resolve(nodeName));
        command.add("--lite.node.fabrics=" + String.join(",", fabrics));
        int index = 0;
        for (Map.Entry<String, String> principal : principals.entrySet()) {
            command.add("--lite.node.principals[%d].name=%s".formatted(index, principal.getKey()));
            command.add("--lite.node.principals[%d].token=%s".formatted(index, principal.getValue()));
            index++;
        }
        nodeProperties.forEach((key, value) -> command.add("--%s=%s".formatted(key, value)));
        return command;
    }

    /** The command that starts an application; it has its compilers and heap for itself. */
    List<String> applicationCommand(Path jar, List<String> arguments) {
        requireFile(jar, "the application's executable jar");
        List<String> command = jvm("64m", "512m");
        command.addAll(List.of("-jar", jar.toString()));
        command.addAll(arguments);
        if (tied) {
            command.add(exitWithPid());
        }
        return command;
    }

    /** The directory in shared memory that belongs to this cluster alone. */
    Path arenaDirectory() {
        return sharedMemory.resolve(name);
    }

    private List<String> jvm(String heapMin, String heapMax) {
        return new ArrayList<>(List.of(
                java.toString(),
                "-Xms" + heapMin,
                "-Xmx" + heapMax,
                "-XX:+UseSerialGC",
                "-XX:+ExitOnOutOfMemoryError",
                "--enable-native-access=ALL-UNNAMED"));
    }

    private void addCommon(List<String> command, Path readyFile) {
        command.add("--server.port=0");
        command.add("--lite.cluster.name=" + name);
        command.add("--lite.ready-file=" + readyFile);
        properties.forEach((key, value) -> command.add("--%s=%s".formatted(key, value)));
        if (tied) {
            command.add(exitWithPid());
        }
    }

    private static String exitWithPid() {
        return "--lite.exit-with-pid=" + ProcessHandle.current().pid();
    }
}

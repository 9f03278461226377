package dev.lite.local;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of a {@link LocalCluster}, made by {@link LocalClusterBuilder} and validated before anything is
 * started.
 *
 * @param name the cluster's name, also of its directory in shared memory
 * @param managerJar the executable jar of the manager
 * @param nodeJar the executable jar of the node
 * @param java the java executable that runs them
 * @param nodes the number of nodes
 * @param arenaBytes the size of each node's arena
 * @param retainArenas whether a stopped node keeps its arena for its next start
 * @param sharedMemory the parent directory of the cluster's directory of arenas
 * @param directory the work directory. Null: a new one below {@code /tmp}, removed with the cluster
 * @param fixedPorts whether the processes listen on documented ports, or the next free ones, rather than on any
 * @param logDirectory the directory for logs, which are kept. Null: the work directory, removed with the cluster
 * @param tied whether every process ends automatically when this one ends
 * @param startDeadline how long a process may print nothing before it is ready
 * @param stopDeadline how long a process may take to stop before SIGKILL
 * @param fabrics the fabrics between the nodes, in order of preference
 * @param principals names and tokens of applications that authenticate by token
 * @param managerJavaOptions more options for every manager's JVM
 * @param nodeJavaOptions more options for every node's JVM
 * @param applicationJavaOptions more options for every application's JVM
 * @param nodeProperties more properties for every node
 * @param properties more properties for every manager and node
 * @param zookeeper the ZooKeeper to use, {@code host:port[,host:port…]}. Null: the manager embeds one
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
        @Nullable Path directory,
        boolean fixedPorts,
        @Nullable Path logDirectory,
        boolean tied,
        Duration startDeadline,
        Duration stopDeadline,
        List<String> fabrics,
        Map<String, String> principals,
        List<String> managerJavaOptions,
        List<String> nodeJavaOptions,
        List<String> applicationJavaOptions,
        Map<String, String> nodeProperties,
        Map<String, String> properties,
        @Nullable String zookeeper) {

    /** With one of these the nodes do not use the cluster's own secret. */
    private static final Set<String> OWN_TRUST =
            Set.of("lite.node.tcp.secret", "lite.node.tcp.secret-file", "lite.node.tcp.ssl-bundle");

    /** With one of these the processes do not sign records with the cluster's own secret. */
    private static final Set<String> OWN_SIGNATURES = Set.of("lite.cluster.secret", "lite.cluster.secret-file");

    /** The directory for temporary files: killed processes would leave theirs, such as Tomcat's, in that of the system. */
    static final String TEMPORARY = "temporary";

    /**
     * The log of a process that is not tied, and so may run for months: a file, and its predecessors in gz files.
     * Together a few times 10 MB for a process: Logback checks the size of a file once a minute.
     */
    private static final List<String> LOG_LIMITS = List.of(
            "--logging.logback.rollingpolicy.max-file-size=10MB",
            "--logging.logback.rollingpolicy.total-size-cap=20MB",
            "--logging.console.enabled=false");

    private static final int NODES_MAX = 64;
    private static final int MANAGER_PORT = 7400;
    private static final int NODE_PORT = 7410;
    private static final int ZOOKEEPER_PORT = 2181;
    private static final int SOCKET_BYTES_MAX = 106;
    private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9-]{0,39}");

    LocalClusterConfig {
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException(
                    "the cluster's name is \"%s\"; it must be at most 40 lowercase letters, digits and hyphens"
                            .formatted(name));
        }
        if (nodes < 1 || nodes > NODES_MAX) {
            throw new IllegalArgumentException(
                    "the number of nodes is %d; it must be 1 to %d".formatted(nodes, NODES_MAX));
        }
        if (arenaBytes <= 0) {
            throw new IllegalArgumentException("the arena size is %d bytes; it must be positive".formatted(arenaBytes));
        }
        if (directory != null) {
            directory = directory.toAbsolutePath().normalize();
            int bytes = runDirectory(directory, LocalCluster.nodeName(nodes))
                    .resolve("node.sock")
                    .toString()
                    .getBytes(StandardCharsets.UTF_8)
                    .length;
            if (bytes > SOCKET_BYTES_MAX) {
                throw new IllegalArgumentException(
                        "the directory %s is too long: its sockets' paths would have %d bytes, and at most %d are possible"
                                .formatted(directory, bytes, SOCKET_BYTES_MAX));
            }
        }
        if (logDirectory != null) {
            logDirectory = logDirectory.toAbsolutePath();
        }
        Path logs = logDirectory == null ? directory : logDirectory;
        if (!tied && logs != null && logs.toString().contains("%")) {
            throw new IllegalArgumentException(
                    "the directory %s has a %% in its path, which Logback would take for a pattern; choose another one"
                            .formatted(logs));
        }
        requireFile(managerJar, "the manager's executable jar");
        requireFile(nodeJar, "the node's executable jar");
        requireFile(java, "the java executable");
        // The commands and the script that stops the cluster also run in other directories.
        managerJar = managerJar.toAbsolutePath();
        nodeJar = nodeJar.toAbsolutePath();
        java = java.toAbsolutePath();
        sharedMemory = sharedMemory.toAbsolutePath();
        fabrics = List.copyOf(fabrics);
        if (fabrics.isEmpty()) {
            throw new IllegalArgumentException("no fabric is configured; the nodes need at least one");
        }
        principals = Map.copyOf(new LinkedHashMap<>(principals));
        managerJavaOptions = List.copyOf(managerJavaOptions);
        nodeJavaOptions = List.copyOf(nodeJavaOptions);
        applicationJavaOptions = List.copyOf(applicationJavaOptions);
        nodeProperties = Map.copyOf(nodeProperties);
        properties = Map.copyOf(properties);
    }

    private static void requireFile(Path file, String what) {
        if (!Files.isRegularFile(file)) {
            throw new IllegalArgumentException(
                    "%s does not exist: %s; build it with: mvn package".formatted(what, file));
        }
    }

    /** The file with the secret of the cluster's nodes. */
    static Path secret(Path work) {
        return work.resolve("secret");
    }

    private static Path runDirectory(Path work, String nodeName) {
        return work.resolve("run").resolve(nodeName);
    }

    private List<String> managerCommand(Path work, Path readyFile, int port) {
        // The manager is not on the data path, and starts faster with only the first compiler.
        List<String> command = service(work);
        command.add("-XX:TieredStopAtLevel=1");
        command.addAll(managerJavaOptions);
        command.addAll(List.of("-jar", managerJar.toString()));
        addCommon(command, work, readyFile, port);
        return command;
    }

    /** The command that starts a manager with an existing ZooKeeper. */
    List<String> managerCommand(Path work, Path readyFile, int port, String managerName, String zookeeperOfCluster) {
        List<String> command = managerCommand(work, readyFile, port);
        command.add("--lite.cluster.zookeeper=" + zookeeperOfCluster);
        command.add("--lite.manager.name=" + managerName);
        return command;
    }

    /**
     * The command that starts the manager with an embedded ZooKeeper. A port of 0 is any free one.
     */
    List<String> managerCommand(Path work, Path readyFile, int port, int zookeeperPort) {
        List<String> command = managerCommand(work, readyFile, port);
        command.add("--lite.manager.zookeeper.embedded=true");
        command.add("--lite.manager.zookeeper.port=" + zookeeperPort);
        command.add("--lite.manager.zookeeper.data-directory=" + work.resolve(LocalCluster.ZOOKEEPER));
        return command;
    }

    /** The command that starts a node. */
    List<String> nodeCommand(Path work, Path readyFile, int port, String nodeName, String zookeeperOfCluster) {
        List<String> command = service(work);
        command.addAll(nodeJavaOptions);
        command.addAll(List.of("-jar", nodeJar.toString()));
        addCommon(command, work, readyFile, port);
        command.add("--lite.cluster.zookeeper=" + zookeeperOfCluster);
        command.add("--lite.node.name=" + nodeName);
        command.add("--lite.node.arena.size=" + arenaBytes + "B");
        command.add("--lite.node.arena.directory=" + sharedMemory);
        command.add("--lite.node.arena.retain=" + retainArenas);
        // Normally a host has one node, whose sockets have fixed names; here each node gets its own directory.
        command.add("--lite.node.run-directory=" + runDirectory(work, nodeName));
        command.add("--lite.node.fabrics=" + String.join(",", fabrics));
        if (OWN_TRUST.stream().noneMatch(nodeProperties::containsKey)) {
            command.add("--lite.node.tcp.secret-file=" + secret(work));
        }
        int index = 0;
        for (Map.Entry<String, String> principal : principals.entrySet()) {
            String prefix = "--lite.node.principals[" + index++ + "].";
            command.add(prefix + "name=" + principal.getKey());
            command.add(prefix + "token=" + principal.getValue());
        }
        nodeProperties.forEach((key, value) -> command.add("--%s=%s".formatted(key, value)));
        return command;
    }

    /** Lets a manager or node write its log itself, within limits, if it may outlive this process. */
    void addLog(List<String> command, Path log) {
        if (!tied) {
            command.add(LocalProcess.LOG_OPTION + log);
            command.addAll(LOG_LIMITS);
        }
    }

    /**
     * Keeps the reports of a crash of a JVM out of the directory where the cluster is started. Options that
     * were given for the JVM come later, and so take precedence.
     */
    void addCrashReport(List<String> command, Path work, String process) {
        Path kept = logDirectory == null ? work : logDirectory;
        command.addAll(
                1,
                List.of(
                        LocalProcess.CRASH_OPTION + forJvm(kept.resolve("hs_err_" + process)) + "_pid%p.log",
                        "-XX:ReplayDataFile=" + forJvm(kept.resolve("replay_" + process)) + "_pid%p.log"));
    }

    /** The JVM replaces %p by its process id. */
    private static String forJvm(Path path) {
        return path.toString().replace("%", "%%");
    }

    /** The command that starts an application. */
    List<String> applicationCommand(Path jar, List<String> arguments) {
        requireFile(jar, "the application's executable jar");
        List<String> command = jvm("64m", "512m");
        command.addAll(applicationJavaOptions);
        command.addAll(List.of("-jar", jar.toString()));
        command.addAll(arguments);
        if (tied) {
            command.add(exitWithPid());
        }
        return command;
    }

    /** The port of a manager: 0 for any free one. */
    int managerPort(Ports ports, int number) {
        return fixedPorts ? ports.free(MANAGER_PORT + number - 1) : 0;
    }

    /** The port of a node: 0 for any free one. */
    int nodePort(Ports ports, int number) {
        return fixedPorts ? ports.free(NODE_PORT + number) : 0;
    }

    /** The port of the embedded ZooKeeper at its first start: 0 for any free one. */
    int zookeeperPort(Ports ports) {
        return fixedPorts ? ports.free(ZOOKEEPER_PORT) : 0;
    }

    /** The directory in shared memory that belongs to this cluster alone. */
    Path arenaDirectory() {
        return sharedMemory.resolve(name);
    }

    /** A manager or a node. */
    private List<String> service(Path work) {
        List<String> command = jvm("64m", "256m");
        command.add("-Djava.io.tmpdir=" + work.resolve(TEMPORARY));
        // Spring calls most constructors and methods once, so a class for each would cost more than it saves. The data
        // path uses no reflection.
        command.add("-Djdk.reflect.useNativeAccessorOnly=true");
        return command;
    }

    private List<String> jvm(String heapMin, String heapMax) {
        return new ArrayList<>(List.of(
                java.toString(),
                "-Xms" + heapMin,
                "-Xmx" + heapMax,
                "-XX:NewSize=10m", // a start needs no more, and would fill what it gets
                "-XX:+UseSerialGC",
                "-XX:+ExitOnOutOfMemoryError",
                "-Dstdout.encoding=UTF-8", // as its output is read, whatever the locale is
                "-Dstderr.encoding=UTF-8",
                "--enable-native-access=ALL-UNNAMED"));
    }

    private void addCommon(List<String> command, Path work, Path readyFile, int port) {
        command.add("--server.port=" + port);
        command.add("--lite.cluster.name=" + name);
        command.add("--lite.ready-file=" + readyFile);
        if (zookeeper == null && OWN_SIGNATURES.stream().noneMatch(properties::containsKey)) {
            command.add("--lite.cluster.secret-file=" + secret(work));
        }
        properties.forEach((key, value) -> command.add("--%s=%s".formatted(key, value)));
        if (tied) {
            command.add(exitWithPid());
        }
    }

    private static String exitWithPid() {
        return "--lite.exit-with-pid=" + ProcessHandle.current().pid();
    }
}

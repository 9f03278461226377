package dev.lite.local;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Configures a cluster. The jars are required; everything else has a default. */
public final class LocalClusterBuilder {
    private String name = "local-" + ProcessHandle.current().pid();
    private @Nullable Path managerJar;
    private @Nullable Path nodeJar;
    private Path java = Path.of(System.getProperty("java.home"), "bin", "java");
    private int nodes = 3;
    private long arenaBytes = 64L << 20;
    private boolean retainArenas;
    private Path sharedMemory = sharedMemoryOf(userId());
    private @Nullable Path directory;
    private boolean fixedPorts;
    private @Nullable Path logDirectory;
    private boolean tied = true;
    private Duration startDeadline = Duration.ofSeconds(60);
    private Duration stopDeadline = Duration.ofSeconds(10);
    private List<String> fabrics = List.of("shm");
    private final Map<String, String> principals = new LinkedHashMap<>();
    private final List<String> managerJavaOptions = new ArrayList<>();
    private final List<String> nodeJavaOptions = new ArrayList<>();
    private final List<String> applicationJavaOptions = new ArrayList<>();
    private final Map<String, String> nodeProperties = new LinkedHashMap<>();
    private final Map<String, String> properties = new LinkedHashMap<>();
    private @Nullable String zookeeper;

    LocalClusterBuilder() {}

    /** The cluster's name; default: {@code local-} and this process's id. */
    public LocalClusterBuilder name(String newName) {
        name = newName;
        return this;
    }

    /** The executable jars of the manager and the node. */
    public LocalClusterBuilder jars(Path newManagerJar, Path newNodeJar) {
        managerJar = newManagerJar;
        nodeJar = newNodeJar;
        return this;
    }

    /** The java executable; default: the one that runs this JVM. */
    public LocalClusterBuilder java(Path executable) {
        java = executable;
        return this;
    }

    /** The number of nodes; default 3. */
    public LocalClusterBuilder nodes(int count) {
        nodes = count;
        return this;
    }

    /** The size of each node's arena in bytes; default 64 MiB. */
    public LocalClusterBuilder arenaBytes(long bytes) {
        arenaBytes = bytes;
        return this;
    }

    /** Whether a stopped (not killed) node keeps its arena for its next start; default: no. */
    public LocalClusterBuilder retainArenas(boolean retain) {
        retainArenas = retain;
        return this;
    }

    /**
     * The directory that holds the cluster's directory of arenas. Default: {@code /dev/shm/lite} for the superuser,
     * {@code /dev/shm/lite-UID} for other users, because one user's directory is closed to all others.
     */
    public LocalClusterBuilder sharedMemory(Path directory) {
        sharedMemory = directory;
        return this;
    }

    /**
     * The work directory, created if missing. Only what the cluster creates in it is removed by {@link LocalCluster#close}.
     * Its path must leave room for sockets, whose paths have at most 106 bytes. Default: a new directory below {@code /tmp}.
     */
    public LocalClusterBuilder directory(Path newDirectory) {
        directory = newDirectory;
        return this;
    }

    /**
     * Whether the processes listen on the documented ports, or the next free ones, rather than on any: the manager on 7400,
     * its ZooKeeper on 2181, node N on 7410 + N. Default: no.
     */
    public LocalClusterBuilder fixedPorts(boolean fixed) {
        fixedPorts = fixed;
        return this;
    }

    /** The directory for logs, which are kept; default: the work directory, removed by {@link LocalCluster#close}. */
    public LocalClusterBuilder logDirectory(Path directory) {
        logDirectory = directory;
        return this;
    }

    /** Whether every process ends automatically when this one ends, for any reason; default: yes. */
    public LocalClusterBuilder tied(boolean newTied) {
        tied = newTied;
        return this;
    }

    /** How long a process may print nothing before it is ready; in total it may take ten times as long. Default 60 s. */
    public LocalClusterBuilder startDeadline(Duration deadline) {
        startDeadline = deadline;
        return this;
    }

    /** How long a process may take to stop before SIGKILL; default 10 s. */
    public LocalClusterBuilder stopDeadline(Duration deadline) {
        stopDeadline = deadline;
        return this;
    }

    /** The fabrics between the nodes, in order of preference; default: {@code shm}. */
    public LocalClusterBuilder fabrics(String... names) {
        fabrics = List.of(names);
        return this;
    }

    /** Adds an application that authenticates to every node with this token. */
    public LocalClusterBuilder principal(String principal, String token) {
        principals.put(principal, token);
        return this;
    }

    /** Adds a JVM option for every manager. */
    public LocalClusterBuilder managerJavaOption(String option) {
        managerJavaOptions.add(option);
        return this;
    }

    /** Adds a JVM option for every node. */
    public LocalClusterBuilder nodeJavaOption(String option) {
        nodeJavaOptions.add(option);
        return this;
    }

    /** Adds a JVM option for every application. */
    public LocalClusterBuilder applicationJavaOption(String option) {
        applicationJavaOptions.add(option);
        return this;
    }

    /** Adds a property for every node. */
    public LocalClusterBuilder nodeProperty(String key, String value) {
        nodeProperties.put(key, value);
        return this;
    }

    /** Adds a property for every manager and node. */
    public LocalClusterBuilder property(String key, String value) {
        properties.put(key, value);
        return this;
    }

    /** An existing ZooKeeper, as {@code host:port[,host:port…]}; default: one embedded in the manager. */
    public LocalClusterBuilder zookeeper(String connectString) {
        zookeeper = connectString;
        return this;
    }

    /**
     * Validates the configuration and creates the directories; starts nothing.
     *
     * @throws IllegalArgumentException when a value is out of its limits or a jar does not exist
     */
    public LocalCluster build() {
        if (managerJar == null || nodeJar == null) {
            throw new IllegalArgumentException("the jars of manager and node are not set");
        }
        return LocalCluster.open(new LocalClusterConfig(
                name,
                managerJar,
                nodeJar,
                java,
                nodes,
                arenaBytes,
                retainArenas,
                sharedMemory,
                directory,
                fixedPorts,
                logDirectory,
                tied,
                startDeadline,
                stopDeadline,
                fabrics,
                principals,
                withClassCache(managerJar, managerJavaOptions),
                withClassCache(nodeJar, nodeJavaOptions),
                applicationJavaOptions,
                nodeProperties,
                properties,
                zookeeper));
    }

    static Path sharedMemoryOf(int userId) {
        return FreeMemory.SHARED_MEMORY.resolve(userId == 0 ? "lite" : "lite-" + userId);
    }

    private static int userId() {
        try {
            return (int) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read this process's user id: " + e.getMessage(), e);
        }
    }

    private List<String> withClassCache(Path jar, List<String> options) {
        return Stream.concat(ClassCaches.options(java, jar).stream(), options.stream())
                .toList();
    }
}

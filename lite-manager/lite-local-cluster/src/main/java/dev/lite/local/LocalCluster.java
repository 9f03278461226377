package dev.lite.local;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A manager, nodes and applications as real processes of this machine. Nothing is started by building it.
 *
 * <p><b>Ownership.</b> The cluster owns its processes, its work directory below {@code /tmp} (logs, sockets, ready files,
 * ZooKeeper's data) and its directory in shared memory. {@link #close} stops the first and removes the others, in bounded
 * time; it also runs when this JVM ends, by Ctrl-C too. {@link #detach} gives the ownership away.
 *
 * <p><b>Threads.</b> Every method may be called by any thread. Nodes are numbered from 1.
 */
public final class LocalCluster implements AutoCloseable {

    private final LocalClusterConfig config;
    private final Path work;
    private final Path logs;
    private final Thread hook;
    private final AtomicBoolean ended = new AtomicBoolean();
    private final Object lock = new Object();
    private final NavigableMap<Integer, LocalProcess> nodes = new TreeMap<>();
    private final List<LocalProcess> applications = new ArrayList<>();
    private final NavigableMap<Integer, LocalProcess> managers = new TreeMap<>();
    private @Nullable String zookeeper;

    private LocalCluster(LocalClusterConfig config, Path work) {
        this.config = config;
        this.work = work;
        this.zookeeper = config.zookeeper();
        this.logs = config.logDirectory() == null ? work.resolve("logs") : config.logDirectory();
        this.hook =
                Thread.ofPlatform().name("cluster " + config.name() + " stop").unstarted(this::end);
    }

    private static LocalCluster open(LocalClusterConfig config) {
        Path work = Directories.createTemporary();
        LocalCluster cluster = new LocalCluster(config, work);
        try {
            Directories.create(cluster.logs);
            Directories.create(work.resolve("ready"));
            Directories.create(work.resolve("run"));
            Directories.create(config.sharedMemory());
            Directories.createNew(config.arenaDirectory());
            Runtime.getRuntime().addShutdownHook(cluster.hook);
        } catch (RuntimeException e) {
            Directories.delete(work);
            throw e;
        }
        return cluster;
    }

    /** A builder without jars. */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Starts the manager and every node that does not run, and waits until all are ready.
     *
     * @param progress told each step in words, on this thread
     * @throws ProcessFailedException when a process ends before it is ready, or is not ready in time
     */
    public void up(Consumer<String> progress) {
        progress.accept("Starting the manager");
        LocalProcess started = startManager();
        progress.accept("  manager   process %d, ZooKeeper at %s".formatted(started.pid(), zookeeper()));
        progress.accept("Starting the nodes");
        for (LocalProcess node : startNodes()) {
            progress.accept("  %-9s process %d, socket %s"
                    .formatted(node.name(), node.pid(), node.property("socket").orElse("?")));
        }
    }

    /**
     * Starts the manager and waits until it is ready. After a {@link #killManager} it comes back with its port and data.
     *
     * @throws ProcessFailedException when it ends before it is ready, or is not ready in time
     */
    public LocalProcess startManager() {
        return startManager(1);
    }

    /**
     * {@link #startManager()}, of one of several: the first has the embedded ZooKeeper when none was given, the others use
     * it. One of them leads.
     *
     * @param number from 1
     */
    public LocalProcess startManager(int number) {
        LocalProcess started;
        synchronized (lock) {
            String managerName = number == 1 ? "manager" : "manager-" + number;
            requireDown(managers.get(number), managerName);
            Path readyFile = readyFile(managerName);
            List<String> command = config.zookeeper() == null && number == 1
                    ? config.managerCommand(work, readyFile, zookeeperPort())
                    : config.managerCommand(readyFile, managerName, zookeeper());
            started = start(managerName, command, readyFile);
            managers.put(number, started);
        }
        started.awaitReady(config.startDeadline());
        String at = started.property("zookeeper")
                .orElseThrow(() -> new ProcessFailedException("the manager's ready file does not name its ZooKeeper"));
        synchronized (lock) {
            zookeeper = at;
        }
        return started;
    }

    /** Starts every node that does not run, all at once, and waits until all are ready. */
    public List<LocalProcess> startNodes() {
        List<LocalProcess> started = new ArrayList<>();
        for (int number = 1; number <= config.nodes(); number++) {
            if (!isRunning(number)) {
                started.add(launchNode(number));
            }
        }
        started.forEach(node -> node.awaitReady(config.startDeadline()));
        return started;
    }

    /**
     * Starts one node and waits until it is ready.
     *
     * @param number 1 to the number of nodes
     * @throws ProcessFailedException when it ends before it is ready, or is not ready in time
     */
    public LocalProcess startNode(int number) {
        LocalProcess started = launchNode(number);
        started.awaitReady(config.startDeadline());
        return started;
    }

    /**
     * Starts an application from an executable jar and does not wait for it.
     *
     * @param name its name, for its log and messages
     * @param output gets each line that it prints, on a thread of its own
     */
    public LocalProcess startApplication(String name, Path jar, List<String> arguments, Consumer<String> output) {
        synchronized (lock) {
            requireOpen();
            LocalProcess started = LocalProcess.start(
                    name, config.applicationCommand(jar, arguments), logs.resolve(name + ".log"), null, output);
            applications.add(started);
            return started;
        }
    }

    /** SIGKILL to a node, as in a crash; its arena stays. */
    public void kill(int number) {
        node(number).kill();
    }

    /** SIGTERM to a node, and SIGKILL when it has not ended within the stop deadline. */
    public boolean stop(int number) {
        return node(number).stop(config.stopDeadline());
    }

    /** SIGKILL to the manager and its ZooKeeper. */
    public void killManager() {
        killManager(1);
    }

    /** SIGKILL to one of several managers. */
    public void killManager(int number) {
        manager(number).kill();
    }

    /** The manager as it was started last. */
    public LocalProcess manager() {
        return manager(1);
    }

    /** One of several managers as it was started last. */
    public LocalProcess manager(int number) {
        synchronized (lock) {
            LocalProcess manager = managers.get(number);
            if (manager == null) {
                throw new IllegalStateException(
                        "manager %d was not started; there are %s".formatted(number, managers.keySet()));
            }
            return manager;
        }
    }

    /** A node as it was started last. */
    public LocalProcess node(int number) {
        synchronized (lock) {
            LocalProcess node = nodes.get(number);
            if (node == null) {
                throw new IllegalStateException(
                        "node %d was not started; there are %s".formatted(number, nodes.keySet()));
            }
            return node;
        }
    }

    /** The socket by which applications attach to a node that was started. */
    public Path socket(int number) {
        return node(number)
                .property("socket")
                .map(Path::of)
                .orElseThrow(() -> new IllegalStateException("node %d is not ready".formatted(number)));
    }

    /** The name of a node. */
    public static String nodeName(int number) {
        return "node-" + number;
    }

    /** The cluster's name. */
    public String name() {
        return config.name();
    }

    /** ZooKeeper's address, {@code host:port}. */
    public String zookeeper() {
        synchronized (lock) {
            if (zookeeper == null) {
                throw new IllegalStateException("the manager was not started");
            }
            return zookeeper;
        }
    }

    /** Logs, sockets and ready files. */
    public Path workDirectory() {
        return work;
    }

    /** The directory in shared memory that holds the arenas. */
    public Path arenaDirectory() {
        return config.arenaDirectory();
    }

    /** Manager, nodes and applications, as far as they were started. */
    public List<LocalProcess> processes() {
        synchronized (lock) {
            List<LocalProcess> all = new ArrayList<>();
            all.addAll(managers.values());
            all.addAll(nodes.values());
            all.addAll(applications);
            return all;
        }
    }

    /**
     * Leaves everything as it is, now and when this JVM ends. Only for a cluster that is not tied to this process.
     *
     * @return a shell script that stops the processes and removes the directories
     */
    public Path detach() {
        synchronized (lock) {
            requireOpen();
            if (config.tied()) {
                throw new IllegalStateException("the cluster %s is tied to this process".formatted(config.name()));
            }
            List<Long> pids = processes().reversed().stream()
                    .filter(LocalProcess::isAlive)
                    .map(LocalProcess::pid)
                    .toList();
            Path script = StopScript.write(
                    work.resolve("stop.sh"), config.name(), pids, List.of(work, config.arenaDirectory()));
            ended.set(true);
            removeHook();
            return script;
        }
    }

    /**
     * Stops the applications, then the nodes, then the manager, each with the stop deadline and then by SIGKILL, and removes
     * the work directory and the arenas. A second call does nothing; one that comes while the first runs waits for it.
     */
    @Override
    public void close() {
        removeHook();
        end();
    }

    private void end() {
        synchronized (lock) {
            if (!ended.compareAndSet(false, true)) {
                return;
            }
            try {
                stopAll(applications);
                stopAll(nodes.values());
                // The first one's ZooKeeper is the others', too.
                managers.descendingMap().values().forEach(manager -> stopAll(List.of(manager)));
            } finally {
                removeDirectories();
            }
        }
    }

    private void removeDirectories() {
        try {
            Directories.delete(work);
        } finally {
            Directories.delete(config.arenaDirectory());
            Directories.deleteIfEmpty(config.sharedMemory());
        }
    }

    /** All get the signal first, so that the deadlines run side by side. */
    private void stopAll(Iterable<LocalProcess> processes) {
        processes.forEach(LocalProcess::terminate);
        long endNs = System.nanoTime() + config.stopDeadline().toNanos();
        for (LocalProcess process : processes) {
            process.stop(Duration.ofNanos(Math.max(0, endNs - System.nanoTime())));
        }
    }

    private void removeHook() {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The JVM is ending: the hook runs, or has run.
        }
    }

    private LocalProcess launchNode(int number) {
        if (number < 1 || number > config.nodes()) {
            throw new IllegalArgumentException("node %d; the cluster has 1 to %d".formatted(number, config.nodes()));
        }
        String nodeName = nodeName(number);
        synchronized (lock) {
            requireDown(nodes.get(number), nodeName);
            Path readyFile = readyFile(nodeName);
            LocalProcess started =
                    start(nodeName, config.nodeCommand(work, readyFile, nodeName, zookeeper()), readyFile);
            nodes.put(number, started);
            return started;
        }
    }

    private boolean isRunning(int number) {
        synchronized (lock) {
            LocalProcess node = nodes.get(number);
            return node != null && node.isAlive();
        }
    }

    private LocalProcess start(String name, List<String> command, Path readyFile) {
        requireOpen();
        return LocalProcess.start(name, command, logs.resolve(name + ".log"), readyFile, null);
    }

    private Path readyFile(String name) {
        return work.resolve("ready").resolve(name + ".properties");
    }

    private int zookeeperPort() {
        return zookeeper == null ? 0 : Integer.parseInt(zookeeper.substring(zookeeper.lastIndexOf(':') + 1));
    }

    private void requireOpen() {
        if (ended.get()) {
            throw new IllegalStateException("the cluster %s is closed".formatted(config.name()));
        }
    }

    private static void requireDown(@Nullable LocalProcess process, String name) {
        if (process != null && process.isAlive()) {
            throw new IllegalStateException("%s runs already, as process %d".formatted(name, process.pid()));
        }
    }

    /** Says what the cluster shall be; the jars are needed, everything else has a default. */
    public static final class Builder {
        private String name = "local-" + ProcessHandle.current().pid();
        private @Nullable Path managerJar;
        private @Nullable Path nodeJar;
        private Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        private int nodes = 3;
        private long arenaBytes = 64L << 20;
        private boolean retainArenas;
        private Path sharedMemory = Path.of("/dev/shm/lite");
        private @Nullable Path logDirectory;
        private boolean tied = true;
        private Duration startDeadline = Duration.ofSeconds(60);
        private Duration stopDeadline = Duration.ofSeconds(10);
        private List<String> fabrics = List.of("shm");
        private final Map<String, String> principals = new LinkedHashMap<>();
        private final List<String> managerJavaOptions = new ArrayList<>();
        private final List<String> nodeJavaOptions = new ArrayList<>();
        private final Map<String, String> nodeProperties = new LinkedHashMap<>();
        private final Map<String, String> properties = new LinkedHashMap<>();
        private @Nullable String zookeeper;

        private Builder() {}

        /** The cluster's name; default: {@code local-} and this process's id. */
        public Builder name(String newName) {
            name = newName;
            return this;
        }

        /** The executable jars of the manager and the node. */
        public Builder jars(Path newManagerJar, Path newNodeJar) {
            managerJar = newManagerJar;
            nodeJar = newNodeJar;
            return this;
        }

        /** The java executable; default: the one that runs this JVM. */
        public Builder java(Path executable) {
            java = executable;
            return this;
        }

        /** How many nodes; default 3. */
        public Builder nodes(int count) {
            nodes = count;
            return this;
        }

        /** The size of each node's arena in bytes; default 64 MiB. */
        public Builder arenaBytes(long bytes) {
            arenaBytes = bytes;
            return this;
        }

        /** Whether a node that is stopped (not killed) leaves its arena for its next start; default: no. */
        public Builder retainArenas(boolean retain) {
            retainArenas = retain;
            return this;
        }

        /** The directory that holds the cluster's directory of arenas; default {@code /dev/shm/lite}. */
        public Builder sharedMemory(Path directory) {
            sharedMemory = directory;
            return this;
        }

        /** Where the logs go and stay; default: into the work directory, removed with it. */
        public Builder logDirectory(Path directory) {
            logDirectory = directory;
            return this;
        }

        /** Whether every process ends by itself when this one is gone, however it went; default: yes. */
        public Builder tied(boolean newTied) {
            tied = newTied;
            return this;
        }

        /** How long a process may take until it is ready; default 60 s. */
        public Builder startDeadline(Duration deadline) {
            startDeadline = deadline;
            return this;
        }

        /** How long a process may take to end by itself; default 10 s. */
        public Builder stopDeadline(Duration deadline) {
            stopDeadline = deadline;
            return this;
        }

        /** What carries data between the nodes, the preferred one first; default: {@code shm}. */
        public Builder fabrics(String... names) {
            fabrics = List.of(names);
            return this;
        }

        /** An application that every node knows by this token. */
        public Builder principal(String principal, String token) {
            principals.put(principal, token);
            return this;
        }

        /** One more option for the JVM of every manager. */
        public Builder managerJavaOption(String option) {
            managerJavaOptions.add(option);
            return this;
        }

        /** One more option for the JVM of every node. */
        public Builder nodeJavaOption(String option) {
            nodeJavaOptions.add(option);
            return this;
        }

        /** One more property for every node. */
        public Builder nodeProperty(String key, String value) {
            nodeProperties.put(key, value);
            return this;
        }

        /** One more property for every manager and node. */
        public Builder property(String key, String value) {
            properties.put(key, value);
            return this;
        }

        /** A ZooKeeper that is there, as {@code host:port[,host:port…]}; default: one in the manager. */
        public Builder zookeeper(String connectString) {
            zookeeper = connectString;
            return this;
        }

        /**
         * Checks everything and makes the directories; starts nothing.
         *
         * @throws IllegalArgumentException when a value is out of its limits or a jar is not there
         */
        public LocalCluster build() {
            if (managerJar == null || nodeJar == null) {
                throw new IllegalArgumentException("the jars of manager and node are not set");
            }
            return open(new LocalClusterConfig(
                    name,
                    managerJar,
                    nodeJar,
                    java,
                    nodes,
                    arenaBytes,
                    retainArenas,
                    sharedMemory,
                    logDirectory,
                    tied,
                    startDeadline,
                    stopDeadline,
                    fabrics,
                    principals,
                    managerJavaOptions,
                    nodeJavaOptions,
                    nodeProperties,
                    properties,
                    zookeeper));
        }
    }
}

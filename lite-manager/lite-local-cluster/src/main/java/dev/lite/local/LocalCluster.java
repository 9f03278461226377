package dev.lite.local;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A manager, nodes and applications as real processes on this machine. Building a cluster starts nothing.
 *
 * <p><b>Ownership.</b> The cluster owns its processes, its work directory (logs, sockets, ready files, commands,
 * ZooKeeper's data) and its directory in shared memory. {@link #close} stops the processes and removes the directories, in
 * bounded time; a shutdown hook calls it when this JVM ends, also on Ctrl-C. {@link #detach} gives up the ownership.
 *
 * <p><b>Threads.</b> Every method may be called by any thread. Nodes are numbered from 1.
 */
public final class LocalCluster implements AutoCloseable {

    private static final int STARTS_MAX = Runtime.getRuntime().availableProcessors();

    /** What a cluster creates in its work directory, beside ZooKeeper's data and the script that stops it. */
    private static final List<String> CREATED =
            List.of("logs", "ready", "run", "commands", LocalClusterConfig.TEMPORARY);

    private static final String STOP = "stop.sh";

    /** The directory of ZooKeeper's data. */
    static final String ZOOKEEPER = "zookeeper";

    /** Where the manager's ZooKeeper listens. */
    private static final String LOOPBACK = "127.0.0.1";

    private final LocalClusterConfig config;
    private final Ports ports = new Ports(); // guarded by lock
    private final Path work;
    private final Path logs;
    private final Thread hook;
    private final AtomicBoolean ended = new AtomicBoolean();
    private final Object lock = new Object();
    private final Map<String, Integer> portOf = new HashMap<>(); // by process, guarded by lock
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

    static LocalCluster open(LocalClusterConfig config) {
        Path work = config.directory() == null ? Directories.createTemporary() : config.directory();
        if (config.directory() != null) {
            Directories.createForUser(work);
            requireUnused(work);
        }
        claim(work);
        LocalCluster cluster = new LocalCluster(config, work);
        boolean ownsArenas = false; // else the directory may be another cluster's
        try {
            CREATED.forEach(directory -> Directories.create(work.resolve(directory)));
            Directories.create(cluster.logs);
            Directories.create(config.sharedMemory());
            Directories.createNew(config.arenaDirectory());
            ownsArenas = true;
            if (!config.tied()) {
                // First of all, so that it exists even if this process is killed.
                StopScript.write(
                        work.resolve(STOP), config.name(), cluster.removed(), List.of(work, config.sharedMemory()));
            }
            Runtime.getRuntime().addShutdownHook(cluster.hook);
            return cluster;
        } catch (RuntimeException e) {
            if (ownsArenas) {
                cluster.removeDirectories();
            } else {
                cluster.removeWork();
            }
            throw e;
        }
    }

    /** Creates the secret, before anything else: of clusters that begin here at the same time, one can. */
    private static void claim(Path work) {
        Path secret = LocalClusterConfig.secret(work);
        try {
            SecretFile.create(secret);
        } catch (FileAlreadyExistsException e) {
            throw new IllegalArgumentException(inUse(work, secret), e);
        } catch (IOException e) {
            Directories.deleteIfEmpty(work);
            throw new UncheckedIOException("cannot write the file " + secret, e);
        }
    }

    private static String inUse(Path work, Path found) {
        return "%s exists: another cluster uses this directory, or was left behind; choose another one, or run sh %s"
                .formatted(found, work.resolve(STOP));
    }

    private static void requireUnused(Path work) {
        for (String entry : Stream.concat(CREATED.stream(), Stream.of("secret")).toList()) {
            if (Files.exists(work.resolve(entry))) {
                throw new IllegalArgumentException(inUse(work, work.resolve(entry)));
            }
        }
        // Nothing else of a cluster is here, so they are somebody else's, and its end would remove them.
        for (String entry : List.of(ZOOKEEPER, STOP)) {
            if (Files.exists(work.resolve(entry))) {
                throw new IllegalArgumentException(
                        "%s exists, where the cluster needs a new file or directory; choose another directory"
                                .formatted(work.resolve(entry)));
            }
        }
    }

    /**
     * Everything that belongs to this cluster alone. In a directory of the user's there may be other files.
     * The script is the last: it stays as long as there is something else.
     */
    private List<Path> removed() {
        List<Path> paths = new ArrayList<>();
        paths.add(config.arenaDirectory());
        if (config.directory() == null) {
            paths.add(work);
        } else {
            Stream.concat(CREATED.stream(), Stream.of(ZOOKEEPER, "secret", STOP))
                    .map(work::resolve)
                    .forEach(paths::add);
        }
        return paths;
    }

    /** Creates a builder; the jars must be set. */
    public static LocalClusterBuilder builder() {
        return new LocalClusterBuilder();
    }

    /**
     * Starts the manager and every node that is not running, and waits until all are ready. The nodes start as
     * soon as they can reach ZooKeeper. If another process took a port of the manager meanwhile, starts all of
     * them once more, with another port.
     *
     * @param progress receives a line for each process that is ready, on this thread
     * @throws ProcessFailedException when a process ends before it is ready, or makes no progress
     */
    public void up(Consumer<String> progress) {
        List<Integer> stopped = stoppedNodes();
        try {
            up(stopped, progress);
        } catch (ProcessFailedException e) {
            if (!hasManagerEnded(1)) {
                throw e;
            }
            killNodes(stopped); // they have no ZooKeeper, or took the server of another process for it
            if (!hasManagerLostPort(1)) {
                throw e;
            }
            progress.accept("Another process took a port of the manager; starting once more, with another port");
            up(stopped, progress);
        }
    }

    private void up(List<Integer> numbers, Consumer<String> progress) {
        progress.accept("Starting the manager");
        LocalProcess manager = launchManager(1);
        if (manager.awaitReadyOr(this::isZooKeeperUp, config.startDeadline())) {
            awaitManager(manager); // only its ready file may tell where its ZooKeeper is
        }
        progress.accept("Starting the nodes, %s at a time"
                .formatted(STARTS_MAX == 1 ? "one process" : STARTS_MAX + " processes"));
        List<Callable<LocalProcess>> starts = new ArrayList<>();
        starts.add(() -> awaitManager(manager));
        numbers.forEach(number -> starts.add(() -> startNode(number)));
        awaitAll(starts, started -> progress.accept(line(started, started == manager)));
    }

    private void killNodes(List<Integer> numbers) {
        synchronized (lock) {
            for (int number : numbers) {
                LocalProcess node = nodes.get(number);
                if (node != null) {
                    node.kill();
                }
            }
        }
    }

    private String line(LocalProcess started, boolean isManager) {
        return isManager
                ? "  manager   process %d, %s, ZooKeeper at %s"
                        .formatted(started.pid(), started.property("url").orElse("?"), zookeeper())
                : "  %-9s process %d, socket %s"
                        .formatted(
                                started.name(),
                                started.pid(),
                                started.property("socket").orElse("?"));
    }

    /** Whether nodes can start already although the manager is not ready. False if ZooKeeper's port is not known yet. */
    private boolean isZooKeeperUp() {
        String address;
        synchronized (lock) {
            address = zookeeper;
        }
        return config.zookeeper() != null || (address != null && Ports.isOpen(port(address)));
    }

    /**
     * Starts the manager and waits until it is ready. After {@link #killManager} it restarts with the same port
     * and data. If another process took one of its ports meanwhile, starts it once more, with another port.
     *
     * @throws ProcessFailedException when the process ends before it is ready, or makes no progress
     */
    public LocalProcess startManager() {
        return startManager(1);
    }

    /**
     * Like {@link #startManager()}, for one of several managers. The first one embeds ZooKeeper unless one was configured;
     * the others use it. One of them leads.
     *
     * @param number from 1
     */
    public LocalProcess startManager(int number) {
        try {
            return awaitManager(launchManager(number));
        } catch (ProcessFailedException e) {
            if (!hasManagerLostPort(number)) {
                throw e;
            }
            return awaitManager(launchManager(number));
        }
    }

    private static String managerName(int number) {
        return number == 1 ? "manager" : "manager-" + number;
    }

    private boolean hasManagerEnded(int number) {
        synchronized (lock) {
            LocalProcess manager = managers.get(number);
            return manager != null && !manager.isAlive();
        }
    }

    /**
     * Whether another process has a port of a manager that has ended. If so, the manager's next start gets
     * another. But ZooKeeper keeps its port while other processes of the cluster use it.
     */
    private boolean hasManagerLostPort(int number) {
        synchronized (lock) {
            if (!hasManagerEnded(number)) {
                return false;
            }
            boolean isLost = hasLostPort(managerName(number));
            String address = number == 1 && config.zookeeper() == null ? zookeeper : null;
            if (address != null
                    && !Ports.isFree(port(address))
                    && processes().stream().noneMatch(LocalProcess::isAlive)) {
                zookeeper = null;
                isLost = true;
            }
            return isLost;
        }
    }

    private LocalProcess launchManager(int number) {
        synchronized (lock) {
            String managerName = managerName(number);
            requireDown(managers.get(number), managerName);
            Path readyFile = readyFile(managerName);
            int port = portOf.computeIfAbsent(managerName, key -> config.managerPort(ports, number));
            List<String> command;
            if (config.zookeeper() == null && number == 1) {
                int zookeeperPort = zookeeperPort();
                if (zookeeperPort != 0) {
                    zookeeper = LOOPBACK + ":" + zookeeperPort;
                }
                command = config.managerCommand(work, readyFile, port, zookeeperPort);
            } else {
                command = config.managerCommand(work, readyFile, port, managerName, zookeeper());
            }
            LocalProcess started = start(managerName, command, readyFile);
            managers.put(number, started);
            return started;
        }
    }

    private LocalProcess awaitManager(LocalProcess manager) {
        manager.awaitReady(config.startDeadline());
        String at = manager.property("zookeeper")
                .orElseThrow(() -> new ProcessFailedException("the manager's ready file has no ZooKeeper address"));
        synchronized (lock) {
            zookeeper = at;
        }
        return manager;
    }

    /**
     * Starts all nodes that are not running, as many at a time as this machine has processors, and waits until all are
     * ready.
     *
     * @return the started nodes, in the order of their numbers
     * @throws ProcessFailedException when a node ends before it is ready, or makes no progress; nodes that are being
     *     started are then left to {@link #close}
     */
    public List<LocalProcess> startNodes() {
        List<Integer> numbers = stoppedNodes();
        List<Callable<LocalProcess>> starts = new ArrayList<>();
        numbers.forEach(number -> starts.add(() -> startNode(number)));
        awaitAll(starts, node -> {});
        return numbers.stream().map(this::node).toList();
    }

    private List<Integer> stoppedNodes() {
        return IntStream.rangeClosed(1, config.nodes())
                .filter(number -> !isRunning(number))
                .boxed()
                .toList();
    }

    /** Runs the starts, as many at a time as this machine has processors: more would make each slower, and a failure later. */
    private static void awaitAll(List<Callable<LocalProcess>> starts, Consumer<LocalProcess> ready) {
        ExecutorService threads = Executors.newFixedThreadPool(STARTS_MAX);
        try {
            CompletionService<LocalProcess> started = new ExecutorCompletionService<>(threads);
            starts.forEach(started::submit);
            for (int count = 0; count < starts.size(); count++) {
                ready.accept(started.take().get());
            }
        } catch (ExecutionException e) {
            throw e.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ProcessFailedException("interrupted while starting the processes", e);
        } finally {
            threads.shutdownNow(); // ends the waits for other processes after a failure
            threads.close(); // and none is launched later
        }
    }

    /**
     * Starts one node and waits until it is ready. If another process took the node's port meanwhile, starts
     * it once more, with another port.
     *
     * @param number 1 to the number of nodes
     * @throws ProcessFailedException when the process ends before it is ready, or makes no progress
     */
    public LocalProcess startNode(int number) {
        try {
            return readyNode(number);
        } catch (ProcessFailedException e) {
            if (!hasLostPort(number)) {
                throw e;
            }
            return readyNode(number);
        }
    }

    private LocalProcess readyNode(int number) {
        LocalProcess started = launchNode(number);
        started.awaitReady(config.startDeadline());
        return started;
    }

    /** Whether another process has the port of a node that has ended. If so, the node's next start gets another. */
    private boolean hasLostPort(int number) {
        synchronized (lock) {
            return !isRunning(number) && hasLostPort(nodeName(number));
        }
    }

    /** The same for any process that has ended. */
    private boolean hasLostPort(String process) {
        synchronized (lock) {
            Integer port = portOf.get(process);
            boolean isLost = port != null && port != 0 && !Ports.isFree(port);
            if (isLost) {
                portOf.remove(process);
            }
            return isLost;
        }
    }

    /**
     * Starts an application from an executable jar without waiting for it.
     *
     * @param name its name, for its log and messages
     * @param output gets each line that it prints, on a thread of its own
     */
    public LocalProcess startApplication(String name, Path jar, List<String> arguments, Consumer<String> output) {
        synchronized (lock) {
            requireOpen();
            List<String> command = config.applicationCommand(jar, arguments);
            config.addCrashReport(command, work, name);
            LocalProcess started = LocalProcess.start(name, command, logs.resolve(name + ".log"), null, output);
            applications.add(started);
            return started;
        }
    }

    /** Sends SIGKILL to a node, like a crash; its arena is kept. */
    public void kill(int number) {
        node(number).kill();
    }

    /** Sends SIGTERM to a node, and SIGKILL if it has not ended within the stop deadline. */
    public boolean stop(int number) {
        return node(number).stop(config.stopDeadline());
    }

    /** Sends SIGKILL to the manager, which includes its ZooKeeper. */
    public void killManager() {
        killManager(1);
    }

    /** Sends SIGKILL to one of several managers. */
    public void killManager(int number) {
        manager(number).kill();
    }

    /** The most recently started process of the manager. */
    public LocalProcess manager() {
        return manager(1);
    }

    /** The most recently started process of one of several managers. */
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

    /** The most recently started process of a node. */
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

    /** The socket through which applications attach to a started node. */
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

    /** The file with the secret of the cluster, which every process that joins must know. Others that use ZooKeeper have none. */
    public Path secretFile() {
        return LocalClusterConfig.secret(work);
    }

    /** Logs, sockets and ready files. */
    public Path workDirectory() {
        return work;
    }

    /** The directory in shared memory that holds the arenas. */
    public Path arenaDirectory() {
        return config.arenaDirectory();
    }

    /** All started processes: managers, nodes and applications. */
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
     * Leaves all processes and directories in place when this JVM ends. Only for a cluster that is not tied to this
     * process. See {@link DetachedCluster}.
     *
     * @return a shell script that stops the processes and removes the directories
     */
    public Path detach() {
        synchronized (lock) {
            requireOpen();
            if (config.tied()) {
                throw new IllegalStateException("the cluster %s is tied to this process".formatted(config.name()));
            }
            ended.set(true);
            removeHook();
            return work.resolve(STOP);
        }
    }

    /**
     * Stops the applications, then the nodes, then the manager, each with SIGTERM and, after the stop deadline, SIGKILL.
     * Then removes the work directory and the arenas; reports of crashed JVMs stay in a {@linkplain
     * LocalClusterBuilder#directory given} directory. Idempotent; a concurrent call waits for the first.
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
                // Stop the first manager last: its ZooKeeper serves the others.
                managers.descendingMap().values().forEach(manager -> stopAll(List.of(manager)));
            } finally {
                removeDirectories();
            }
        }
    }

    private void removeDirectories() {
        try {
            Directories.delete(config.arenaDirectory());
            Directories.deleteIfEmpty(config.sharedMemory());
        } finally {
            removeWork();
        }
    }

    private void removeWork() {
        removed().stream().filter(path -> path.startsWith(work)).forEach(Directories::delete);
        Directories.deleteIfEmpty(work);
    }

    /** Signals all processes first, so that their deadlines run in parallel. */
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
            // The JVM is shutting down: the hook is running or has run.
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
            int port = portOf.computeIfAbsent(nodeName, key -> config.nodePort(ports, number));
            LocalProcess started =
                    start(nodeName, config.nodeCommand(work, readyFile, port, nodeName, zookeeper()), readyFile);
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
        Path log = logs.resolve(name + ".log");
        config.addLog(command, log);
        config.addCrashReport(command, work, name);
        try {
            Files.write(work.resolve("commands").resolve(name), command);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot record the command of %s in %s".formatted(name, work), e);
        }
        return LocalProcess.start(name, command, log, readyFile, null);
    }

    private Path readyFile(String name) {
        return readyFile(work, name);
    }

    static Path readyFile(Path work, String name) {
        return work.resolve("ready").resolve(name + ".properties");
    }

    private int zookeeperPort() {
        return zookeeper == null ? config.zookeeperPort(ports) : port(zookeeper);
    }

    private static int port(String address) {
        return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
    }

    private void requireOpen() {
        if (ended.get()) {
            throw new IllegalStateException("the cluster %s is closed".formatted(config.name()));
        }
    }

    private static void requireDown(@Nullable LocalProcess process, String name) {
        if (process != null && process.isAlive()) {
            throw new IllegalStateException("%s is already running as process %d".formatted(name, process.pid()));
        }
    }
}

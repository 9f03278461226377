package dev.lite.local;

import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

/**
 * The processes of a cluster whose launcher has {@linkplain LocalCluster#detach ended}: stops one of them, and starts it again
 * as the launcher did. Finds them by their arguments, so also one that somebody else started. Any thread.
 */
public final class DetachedCluster {
    private static final Duration SILENCE_MAX = Duration.ofSeconds(60);
    private static final Duration STOP_DEADLINE = Duration.ofSeconds(15);
    private static final long POLL_MS = 100;
    private static final String NODE_NAME = "--lite.node.name=";
    private static final String MANAGER_NAME = "--lite.manager.name=";
    private static final String MANAGER = "manager";
    private static final String PORT = "--server.port=";
    private static final String ZOOKEEPER_PORT = "--lite.manager.zookeeper.port=";
    private static final String ZOOKEEPER = "--lite.cluster.zookeeper=";
    /** Where the manager's ZooKeeper listens. */
    private static final String LOOPBACK = "127.0.0.1:";

    private final String name;
    private final Path work;

    /** @param work the cluster's {@linkplain LocalCluster#workDirectory work directory} */
    public DetachedCluster(String name, Path work) {
        this.name = name;
        this.work = work;
    }

    /** The processes that the launcher started, which can be started again. */
    public List<String> names() {
        try (Stream<Path> commands = Files.list(work.resolve("commands"))) {
            return commands.map(file -> file.getFileName().toString()).sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot list the processes of the cluster in " + work, e);
        }
    }

    /** Whether any process of the cluster runs. */
    public boolean isRunning() {
        return processes().findAny().isPresent();
    }

    /** The processes of the cluster that run, for messages. */
    public List<String> running() {
        return processes()
                .map(handle -> "%s (process %d)".formatted(process(arguments(handle)), handle.pid()))
                .sorted()
                .toList();
    }

    /**
     * Starts a process and waits until it is ready. If another process took its port meanwhile, starts it
     * once more, with another port, which is then recorded. The manager's ZooKeeper gets another port only
     * while no other process of the cluster runs, since these use it.
     *
     * @param process {@code manager}, or a node's name
     * @throws ProcessFailedException when it runs already, ends before it is ready, or makes no progress
     */
    public LocalProcess start(String process) {
        Path command = known(process);
        Optional<ProcessHandle> running = find(process);
        if (running.isPresent()) {
            throw new ProcessFailedException("%s is already running as process %d"
                    .formatted(process, running.get().pid()));
        }
        try {
            try {
                return ready(process, command);
            } catch (ProcessFailedException e) {
                if (find(process).isPresent() || !hasReplacedLostPorts(process)) {
                    throw e;
                }
                return ready(process, command);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read or write " + command, e);
        }
    }

    private LocalProcess ready(String process, Path command) throws IOException {
        LocalProcess started = LocalProcess.start(
                process, Files.readAllLines(command), log(process), LocalCluster.readyFile(work, process), null);
        started.awaitReady(SILENCE_MAX);
        return started;
    }

    /** Whether another process has a port of a process that has ended. If so, its next start gets another. */
    private boolean hasReplacedLostPorts(String process) throws IOException {
        Ports ports = new Ports();
        for (String each : names()) {
            Stream.of(PORT, ZOOKEEPER_PORT)
                    .flatMapToInt(prefix -> port(each, prefix).stream())
                    .forEach(ports::reserve);
        }
        boolean isReplaced = false;
        OptionalInt lost = lostPort(process, PORT);
        if (lost.isPresent()) {
            replace(process, PORT + lost.getAsInt(), PORT + ports.free(lost.getAsInt()));
            isReplaced = true;
        }
        // First the users of the new port, then the manager: an interrupted change is found and made again.
        OptionalInt lostZooKeeper = isRunning() ? OptionalInt.empty() : lostPort(process, ZOOKEEPER_PORT);
        if (lostZooKeeper.isPresent()) {
            int before = lostZooKeeper.getAsInt();
            int after = ports.free(before);
            for (String each : names()) {
                replace(each, ZOOKEEPER + LOOPBACK + before, ZOOKEEPER + LOOPBACK + after);
            }
            replace(process, ZOOKEEPER_PORT + before, ZOOKEEPER_PORT + after);
            isReplaced = true;
        }
        return isReplaced;
    }

    /** The recorded port of a process, if it has a fixed one and another process has that now. */
    private OptionalInt lostPort(String process, String prefix) {
        OptionalInt port = port(process, prefix);
        return port.isPresent() && port.getAsInt() != 0 && !Ports.isFree(port.getAsInt()) ? port : OptionalInt.empty();
    }

    private OptionalInt port(String process, String prefix) {
        return option(process, prefix.substring(2, prefix.length() - 1)).stream()
                .mapToInt(Integer::parseInt)
                .findFirst();
    }

    /** Replaces an argument in a recorded command. */
    private void replace(String process, String before, String after) throws IOException {
        Path command = known(process);
        List<String> changed = Files.readAllLines(command).stream()
                .map(argument -> argument.equals(before) ? after : argument)
                .toList();
        Path temporary = Files.createTempFile(work, "command", null);
        Files.write(temporary, changed);
        Files.move(temporary, command, StandardCopyOption.ATOMIC_MOVE);
    }

    /**
     * Stops a process by SIGTERM, and by SIGKILL if it has not ended after 15 s. A node keeps its arena.
     *
     * @return whether it ran
     */
    public boolean stop(String process) {
        known(process);
        Optional<ProcessHandle> running = find(process);
        running.ifPresent(handle -> {
            handle.destroy();
            if (!hasEnded(handle)) {
                handle.destroyForcibly();
                if (!hasEnded(handle)) {
                    throw new ProcessFailedException(
                            "%s, process %d, did not end by SIGKILL".formatted(process, handle.pid()));
                }
            }
        });
        return running.isPresent();
    }

    /** What a running process wrote to its ready file; empty when it is not ready. */
    public Properties addresses(String process) {
        known(process);
        Properties values = new Properties();
        Path file = LocalCluster.readyFile(work, process);
        if (Files.exists(file) && find(process).isPresent()) {
            try (Reader reader = Files.newBufferedReader(file)) {
                values.load(reader);
            } catch (IOException e) {
                throw new UncheckedIOException("cannot read " + file, e);
            }
        }
        return values;
    }

    /** The value of an option {@code --name=value} that a process was started with. */
    public Optional<String> option(String process, String name) {
        Path command = known(process);
        String prefix = "--%s=".formatted(name);
        try {
            return Files.readAllLines(command).stream()
                    .filter(argument -> argument.startsWith(prefix))
                    .map(argument -> argument.substring(prefix.length()))
                    .findFirst();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + command, e);
        }
    }

    /** The file with a process's log, which the process begins anew when it is long. */
    public Path log(String process) {
        known(process);
        return work.resolve("logs").resolve(process + ".log");
    }

    /** The file with what a process and its JVM printed outside of its log. */
    public Path output(String process) {
        return LocalProcess.output(log(process));
    }

    private Path known(String process) {
        if (!names().contains(process)) {
            throw new IllegalArgumentException(
                    "the cluster %s has no process \"%s\"; it has %s".formatted(name, process, names()));
        }
        return work.resolve("commands").resolve(process);
    }

    private Optional<ProcessHandle> find(String process) {
        return processes()
                .filter(handle -> process.equals(process(arguments(handle))))
                .findFirst();
    }

    /** The launcher gives its manager no name, so one with a name was started by somebody else. */
    private static String process(List<String> arguments) {
        return Stream.of(NODE_NAME, MANAGER_NAME)
                .flatMap(prefix -> arguments.stream()
                        .filter(argument -> argument.startsWith(prefix))
                        .map(argument -> argument.substring(prefix.length())))
                .findFirst()
                .orElse(MANAGER);
    }

    private Stream<ProcessHandle> processes() {
        String marker = "--lite.cluster.name=" + name;
        Optional<String> user = ProcessHandle.current().info().user();
        return ProcessHandle.allProcesses()
                .filter(handle -> handle.info().user().equals(user))
                .filter(handle -> arguments(handle).contains(marker));
    }

    /** Its command line. Empty for a process that has ended. */
    private static List<String> arguments(ProcessHandle handle) {
        try {
            // Not ProcessHandle.Info, which has no arguments when the command line is longer than a page.
            byte[] line = Files.readAllBytes(Path.of("/proc", Long.toString(handle.pid()), "cmdline"));
            return Arrays.asList(new String(line, StandardCharsets.UTF_8).split("\0", -1));
        } catch (IOException e) {
            return List.of();
        }
    }

    private static boolean hasEnded(ProcessHandle handle) {
        CompletableFuture<ProcessHandle> exit = handle.onExit();
        long endNs = System.nanoTime() + STOP_DEADLINE.toNanos();
        while (true) {
            try {
                ProcessHandle unused = exit.get(POLL_MS, TimeUnit.MILLISECONDS);
                return true;
            } catch (TimeoutException e) {
                if (isUncollected(handle)) {
                    return true;
                }
                if (System.nanoTime() - endNs >= 0) {
                    return false;
                }
            } catch (ExecutionException e) {
                throw new IllegalStateException(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new ProcessFailedException("interrupted while stopping process " + handle.pid(), e);
            }
        }
    }

    /**
     * Whether it has ended, but its parent does not collect its status, as in a container whose first process is no init
     * process.
     */
    private static boolean isUncollected(ProcessHandle handle) {
        try {
            String stat = Files.readString(Path.of("/proc", Long.toString(handle.pid()), "stat"));
            return stat.startsWith("Z", stat.lastIndexOf(')') + 2); // the state follows the name in parentheses
        } catch (IOException e) {
            return false; // onExit notices its end
        }
    }
}

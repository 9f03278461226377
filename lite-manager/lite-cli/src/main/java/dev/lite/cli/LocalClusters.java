package dev.lite.cli;

import dev.lite.local.DetachedCluster;
import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The clusters that {@code up} started on this machine, each recorded in a file for the other commands. The file is created
 * before any process starts, so that two concurrent starts of one cluster cannot both succeed. What removes a file holds a lock that all
 * processes of this user share.
 */
final class LocalClusters {
    /** The URL of the manager. */
    static final String URL = "url";

    /** The work directory, recorded before any process starts. */
    static final String DIRECTORY = "directory";

    private static final String PID = "pid";

    /** Of process ids: containers that share a home directory do not see each other's processes. */
    private static final String NAMESPACE = "namespace";
    /** The start time of a process is computed from the time of the machine's start. */
    private static final Duration CLOCK_ERROR = Duration.ofSeconds(5);

    /** Each of at most 65 processes gets 15 s to stop before SIGKILL. */
    private static final long STOP_SECONDS = 1200;

    private static final int SHOWN_MAX = 64;
    private static final int OTHERS_MAX = 8;
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,63}");
    private static final String ENDING = ".properties";

    private final Path directory;

    LocalClusters(Path directory) {
        this.directory = directory;
    }

    /**
     * Checks the name of a cluster or a process, which is part of a path.
     *
     * @param option for messages
     */
    static void checkName(String option, String name) {
        if (!NAME.matcher(name).matches() || name.equals(".") || name.equals("..")) {
            String shown = name.codePoints()
                    .limit(SHOWN_MAX)
                    .mapToObj(character -> Character.isISOControl(character)
                            ? "U+%04X".formatted(character)
                            : Character.toString(character))
                    .collect(Collectors.joining());
            throw new IllegalArgumentException(
                    "%s is \"%s\"; it must be 1 to 63 of the characters a-z A-Z 0-9 . _ -".formatted(option, shown));
        }
    }

    /** The clusters of this user. */
    static LocalClusters here() {
        String home = System.getenv("LITE_HOME");
        Path base = home == null || home.isBlank() ? Path.of(System.getProperty("user.home"), ".lite") : Path.of(home);
        return new LocalClusters(base.resolve("clusters"));
    }

    /** The file that records a cluster, for messages. */
    Path file(String name) {
        return directory.resolve(name + ENDING);
    }

    /** The default work directory of a cluster. */
    Path workDirectory(String name) {
        return directory.resolve(name);
    }

    /**
     * A recorded cluster, for its processes.
     *
     * @throws CommandFailedException when it was not started here
     */
    DetachedCluster detached(String name) {
        String work = require(name).getProperty(DIRECTORY);
        if (work == null) {
            throw new CommandFailedException(
                    ExitStatus.FAILED, "the cluster \"%s\" is still being started".formatted(name));
        }
        return new DetachedCluster(name, Path.of(work));
    }

    /** As {@link #find}, but fails when there is no such cluster. */
    Properties require(String name) {
        return find(name)
                .orElseThrow(() -> new CommandFailedException(
                        ExitStatus.FAILED,
                        "no cluster \"%s\" was started here: %s does not exist%s"
                                .formatted(name, file(name), others())));
    }

    /** Whether a command is still starting the cluster. */
    boolean isBeingStarted(String name) {
        Properties noted = require(name);
        return !noted.containsKey(URL) && hasStarter(name, noted);
    }

    /**
     * Whether the process runs that recorded the cluster. One that began later only has its id, such as after a restart of
     * the machine.
     */
    private boolean hasStarter(String name, Properties noted) {
        Optional<Instant> began = ProcessHandle.of(Long.parseLong(noted.getProperty(PID, "0")))
                .map(process -> process.info().startInstant().orElse(Instant.MIN));
        try {
            Instant recorded = Files.getLastModifiedTime(file(name)).toInstant();
            return began.isPresent() && began.get().isBefore(recorded.plus(CLOCK_ERROR));
        } catch (NoSuchFileException removed) {
            return false;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + file(name), e);
        }
    }

    /**
     * Reserves a name before the cluster is started. Of several starts at the same time, one succeeds.
     *
     * @throws CommandFailedException when the name is in use
     */
    void reserve(String name) {
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot create " + directory, e);
        }
        locked(() -> {
            try {
                if (isAbandoned(name)) {
                    Files.deleteIfExists(file(name));
                }
                Path written = written(name, Map.of());
                try {
                    // With its contents at once, so that no other start takes it for an abandoned one.
                    Files.createLink(file(name), written);
                } finally {
                    Files.deleteIfExists(written);
                }
            } catch (FileAlreadyExistsException e) {
                throw new CommandFailedException(ExitStatus.FAILED, inUse(name), e);
            } catch (IOException e) {
                throw new UncheckedIOException("cannot record the cluster in " + file(name), e);
            }
        });
    }

    /**
     * Removes what a start left that was killed, if none of its processes runs. Not what is left of a cluster that was running: its
     * processes can be started again with their memory.
     *
     * @return whether there was such a start
     */
    boolean removeKilledStart(String name) {
        AtomicBoolean removed = new AtomicBoolean();
        if (Files.isDirectory(directory)) {
            locked(() -> {
                Optional<Properties> left = find(name);
                if (left.isPresent() && wasKilled(name, left.get())) {
                    Path stop = stopScript(left.get());
                    if (stop != null && Files.exists(stop)) {
                        stop(stop);
                    }
                    delete(name);
                    removed.set(true);
                }
            });
        }
        return removed.get();
    }

    private boolean wasKilled(String name, Properties noted) {
        return noted.containsKey(PID)
                && noted.getProperty(NAMESPACE, "").equals(namespace())
                && noted.containsKey(DIRECTORY)
                && !noted.containsKey(URL)
                && !hasStarter(name, noted)
                && !detached(name).isRunning();
    }

    /** The script that stops a cluster; null if the cluster has no work directory yet. */
    static @Nullable Path stopScript(Properties noted) {
        String work = noted.getProperty(DIRECTORY);
        return work == null ? null : stopScript(Path.of(work));
    }

    /**
     * The script that stops the cluster with this work directory. It exists as long as there is something to
     * stop or remove.
     */
    static Path stopScript(Path work) {
        return work.resolve("stop.sh");
    }

    /** Runs the script that stops a cluster. */
    static void stop(Path script) {
        try {
            Process process =
                    new ProcessBuilder("/bin/sh", script.toString()).inheritIO().start();
            if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new CommandFailedException(
                        ExitStatus.FAILED, "%s did not end within %d s".formatted(script, STOP_SECONDS));
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

    /** Why a name cannot be reserved. */
    private String inUse(String name) {
        if (isBeingStarted(name)) {
            return "the cluster \"%s\" is already running: process %s is starting it (%s); stop that process, or wait and stop the cluster with: lite down --name %s"
                    .formatted(name, require(name).getProperty(PID), file(name), name);
        }
        List<String> running = detached(name).running();
        if (!running.isEmpty() && !require(name).containsKey(URL)) {
            return "the start of the cluster \"%s\" was killed, and processes of it still run (%s): %s; stop them with: lite down --name %s"
                    .formatted(name, file(name), String.join(", ", running), name);
        }
        return !running.isEmpty()
                ? "the cluster \"%s\" is already running (%s); stop it with: lite down --name %s"
                        .formatted(name, file(name), name)
                : "the cluster \"%s\" was left behind, and none of its processes runs (%s); remove it with: lite down --name %s"
                        .formatted(name, file(name), name);
    }

    /**
     * Runs a step that reads a record and then removes it, while no other process does: else that one could have replaced the record
     * between the two. A process that dies loses the lock. Threads of one process take turns, since the
     * file's lock is the process's.
     */
    private synchronized void locked(Runnable step) {
        Path file = directory.resolveSibling(directory.getFileName() + ".lock");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            FileLock held = channel.lock();
            try {
                step.run();
            } finally {
                held.release();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot lock " + file, e);
        }
    }

    /** Whether a start reserved the name and ended before it created anything. */
    private boolean isAbandoned(String name) {
        Optional<Properties> found = find(name);
        return found.isPresent()
                && found.get().containsKey(PID)
                && !found.get().containsKey(DIRECTORY)
                && !hasStarter(name, found.get());
    }

    /** Records a running cluster whose name was reserved. */
    void write(String name, Map<String, String> values) {
        try {
            Files.move(written(name, values), file(name), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot record the cluster in " + file(name), e);
        }
    }

    /** Records the URL of a manager that was started again, which may have another port. */
    void moved(String name, String url) {
        locked(() -> find(name)
                .filter(noted ->
                        noted.containsKey(URL) && !noted.getProperty(URL).equals(url))
                .ifPresent(noted -> write(name, Map.of(DIRECTORY, noted.getProperty(DIRECTORY), URL, url))));
    }

    /** Writes a record into a temporary file. */
    private Path written(String name, Map<String, String> values) throws IOException {
        StringBuilder text = new StringBuilder();
        values.forEach((key, value) -> text.append("%s=%s%n".formatted(key, value.replace("\\", "\\\\"))));
        text.append("%s=%s%n".formatted(NAMESPACE, namespace()));
        text.append("%s=%s%n".formatted(PID, ownPid()));
        return Files.writeString(Files.createTempFile(directory, name + ".", ".tmp"), text);
    }

    /** In the same digits in every locale, because records are compared. */
    private static String ownPid() {
        return Long.toString(ProcessHandle.current().pid());
    }

    private static String namespace() {
        try {
            return Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read the namespace of process ids", e);
        }
    }

    /** The recorded properties of a cluster. */
    Optional<Properties> find(String name) {
        Properties values = new Properties();
        try (Reader reader = Files.newBufferedReader(file(name))) {
            values.load(reader);
            return Optional.of(values);
        } catch (NoSuchFileException none) {
            return Optional.empty();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + file(name), e);
        }
    }

    /** Removes the record of a cluster whose start failed, if this process wrote it. */
    void release(String name) {
        locked(() -> {
            if (find(name)
                    .filter(noted -> ownPid().equals(noted.getProperty(PID)))
                    .isPresent()) {
                delete(name);
            }
        });
    }

    /**
     * Removes the record of a cluster.
     *
     * @param read what {@link #require} returned
     * @throws CommandFailedException when the cluster was started again since then
     */
    void remove(String name, Properties read) {
        locked(() -> {
            if (find(name).filter(noted -> !noted.equals(read)).isPresent()) {
                throw new CommandFailedException(
                        ExitStatus.FAILED,
                        "the cluster \"%s\" was started again by process %s meanwhile; it was not removed (%s)"
                                .formatted(name, require(name).getProperty(PID), file(name)));
            }
            delete(name);
        });
    }

    private void delete(String name) {
        try {
            Files.deleteIfExists(file(name));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot remove " + file(name), e);
        }
    }

    /** The manager's URL of the only cluster; empty when there is none or there are several. */
    Optional<String> onlyUrl() {
        List<String> urls = names().stream()
                .flatMap(name -> find(name).stream())
                .flatMap(values -> Optional.ofNullable(values.getProperty(URL)).stream())
                .toList();
        return urls.size() == 1 ? Optional.of(urls.getFirst()) : Optional.empty();
    }

    /** The end of a message that a cluster was not started here: which ones were; empty if none. */
    String others() {
        List<String> names = names();
        String more = names.size() > OTHERS_MAX ? ", …" : "";
        return names.isEmpty()
                ? ""
                : "; started here: %s%s; give one as --name"
                        .formatted(names.stream().limit(OTHERS_MAX).collect(Collectors.joining(", ")), more);
    }

    private List<String> names() {
        if (!Files.isDirectory(directory)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(file -> file.endsWith(ENDING))
                    .map(file -> file.substring(0, file.length() - ENDING.length()))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot list " + directory, e);
        }
    }
}

package dev.lite.cli;

import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.Stream;

/**
 * The clusters that {@code up} started on this machine, each recorded in a file for the other commands. The file is created
 * before any process starts, so that two concurrent starts of one cluster cannot both succeed.
 */
final class LocalClusters {
    /** The URL of the manager. */
    static final String URL = "url";

    /** The script that stops the cluster. */
    static final String STOP = "stop";

    private static final String PID = "pid";
    private static final String ENDING = ".properties";

    private final Path directory;

    LocalClusters(Path directory) {
        this.directory = directory;
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

    /**
     * Reserves a name before the cluster is started.
     *
     * @throws CommandFailedException when the name is in use
     */
    void reserve(String name) {
        try {
            Files.createDirectories(directory);
            if (isAbandoned(name)) {
                Files.deleteIfExists(file(name));
            }
            Files.createFile(file(name));
            write(name, Map.of());
        } catch (FileAlreadyExistsException e) {
            throw new CommandFailedException(
                    ExitStatus.FAILED,
                    "the cluster \"%s\" is already running (%s); stop it with: lite down --name %s"
                            .formatted(name, file(name), name),
                    e);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot record the cluster in " + file(name), e);
        }
    }

    /** Whether a start reserved the name and ended before the cluster was up. */
    private boolean isAbandoned(String name) {
        Optional<Properties> found = find(name);
        return found.isPresent()
                && !found.get().containsKey(STOP)
                && ProcessHandle.of(Long.parseLong(found.get().getProperty(PID, "0")))
                        .isEmpty();
    }

    /** Records a running cluster whose name was reserved. */
    void write(String name, Map<String, String> values) {
        StringBuilder text = new StringBuilder();
        values.forEach((key, value) -> text.append("%s=%s%n".formatted(key, value.replace("\\", "\\\\"))));
        text.append("%s=%d%n".formatted(PID, ProcessHandle.current().pid()));
        try {
            Files.writeString(file(name), text);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot record the cluster in " + file(name), e);
        }
    }

    /** The recorded properties of a cluster. */
    Optional<Properties> find(String name) {
        if (!Files.exists(file(name))) {
            return Optional.empty();
        }
        Properties values = new Properties();
        try (Reader reader = Files.newBufferedReader(file(name))) {
            values.load(reader);
            return Optional.of(values);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + file(name), e);
        }
    }

    /** Removes the record of a cluster. */
    void remove(String name) {
        try {
            Files.deleteIfExists(file(name));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot remove " + file(name), e);
        }
    }

    /** The manager's URL of the only cluster; empty when there is none or there are several. */
    Optional<String> onlyUrl() {
        if (!Files.isDirectory(directory)) {
            return Optional.empty();
        }
        try (Stream<Path> files = Files.list(directory)) {
            List<String> urls = files.map(file -> file.getFileName().toString())
                    .filter(file -> file.endsWith(ENDING))
                    .map(file -> file.substring(0, file.length() - ENDING.length()))
                    .flatMap(name -> find(name).stream())
                    .flatMap(values -> Optional.ofNullable(values.getProperty(URL)).stream())
                    .toList();
            return urls.size() == 1 ? Optional.of(urls.getFirst()) : Optional.empty();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot list " + directory, e);
        }
    }
}

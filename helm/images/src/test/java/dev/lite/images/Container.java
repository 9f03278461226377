package dev.lite.images;

import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;

/**
 * A process in the root of its image, with mount and process namespaces of its own, as a container has them. It uses the network of
 * this machine; the processes listen on loopback only.
 */
final class Container implements AutoCloseable {
    private final Process process;
    private final Image image;
    private final Path log;
    private final long startNs;

    private Container(Process process, Image image, Path log, long startNs) {
        this.process = process;
        this.image = image;
        this.log = log;
        this.startNs = startNs;
    }

    /**
     * What a pod would say of the container.
     *
     * @param user user and group, as USER:GROUP
     * @param groups supplemental groups; empty for none
     * @param mounts pairs of a directory of this machine and its place in the container, as FROM:TO
     * @param environment as NAME=VALUE, beside that of the image
     */
    record Pod(String user, String groups, List<String> mounts, List<String> environment) {}

    /** Starts the image's own command with arguments. */
    static Container start(Image image, Pod pod, Path log, String... arguments) {
        List<String> command = new ArrayList<>(image.entryPoint());
        command.addAll(List.of(arguments));
        return startCommand(image, pod, log, command);
    }

    /** Starts another command of the image. */
    static Container startCommand(Image image, Pod pod, Path log, List<String> command) {
        StringBuilder script =
                new StringBuilder("set -e\nmount -t proc proc \"$0/proc\"\nmount --rbind /dev \"$0/dev\"\n");
        for (String mount : pod.mounts()) {
            String[] ends = mount.split(":", 2);
            script.append("mkdir -p \"$0%s\"\nmount --bind '%s' \"$0%s\"\n".formatted(ends[1], ends[0], ends[1]));
        }
        script.append("exec chroot --userspec='%s' --groups='%s' \"$0\" /usr/bin/env -i \"$@\"\n"
                .formatted(pod.user(), pod.groups()));
        List<String> whole = new ArrayList<>(
                List.of("unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "sh", "-c", script.toString()));
        whole.add(image.root().toString());
        whole.addAll(image.environment());
        whole.addAll(pod.environment());
        whole.addAll(command);
        try {
            long startNs = System.nanoTime();
            Process process = new ProcessBuilder(whole)
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            return new Container(process, image, log, startNs);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits for a ready file, a path in the container, and returns its content. */
    Properties awaitReady(String file) {
        Path path = image.root().resolve(file.substring(1));
        Waits.until("the ready file " + file, Waits.seconds(90), () -> {
            requireAlive();
            return Files.exists(path);
        });
        try {
            Properties properties = new Properties();
            properties.load(new StringReader(Files.readString(path)));
            return properties;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Milliseconds since the start. */
    long millis() {
        return (System.nanoTime() - startNs) / 1_000_000;
    }

    void requireAlive() {
        if (!process.isAlive()) {
            throw new AssertionError("the container ended with status " + process.exitValue() + ":\n" + log());
        }
    }

    /** Waits for the end and returns the status. */
    int awaitEnd() {
        try {
            if (!process.waitFor(Waits.seconds(60).toNanos(), TimeUnit.NANOSECONDS)) {
                throw new AssertionError("the container did not end:\n" + log());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
        return process.exitValue();
    }

    String log() {
        try {
            return Files.readString(log);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends the command itself, not only its parent: the kernel forgets {@code --kill-child} when the user changes. */
    @Override
    public void close() {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        int unused = awaitEnd();
    }
}

package dev.lite.rdma.vm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** This machine, which has its own device. */
final class LocalMachine implements Machine {
    private static final long END_S = 20;

    private final String name;
    private final String address;
    private final Path directory;
    private final Path memory;
    private final AtomicInteger numbers = new AtomicInteger();
    private final List<Process> processes = new CopyOnWriteArrayList<>();

    /**
     * Creates its directory, or empties an existing one.
     *
     * @param address of the device's interface
     */
    LocalMachine(String name, String address) {
        this.name = name;
        this.address = address;
        directory = VmFiles.root().resolve(name);
        empty(directory);
        try {
            memory = Files.createTempDirectory(Path.of("/dev/shm"), "lite-rdma");
        } catch (IOException e) {
            throw new UncheckedIOException("cannot create a directory in /dev/shm", e);
        }
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String address() {
        return address;
    }

    @Override
    public Path directory() {
        return directory;
    }

    @Override
    public String inside(String file) {
        return directory.resolve(file).toString();
    }

    @Override
    public String memory() {
        return memory.toString();
    }

    @Override
    public Running start(String script) {
        Path log = directory.resolve(numbers.incrementAndGet() + ".log");
        try {
            Process process = new ProcessBuilder("/bin/sh", "-c", script)
                    .directory(directory.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            processes.add(process);
            return new Program(process, log);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        for (Process process : processes) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
            process.onExit().orTimeout(END_S, TimeUnit.SECONDS).join();
        }
        delete(memory);
    }

    private record Program(Process process, Path log) implements Running {
        @Override
        public int await(Duration deadline) {
            try {
                if (!process.waitFor(deadline.toNanos(), TimeUnit.NANOSECONDS)) {
                    throw new AssertionError("not ended within %s; its output:%n%s".formatted(deadline, output()));
                }
                return process.exitValue();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError("interrupted", e);
            }
        }

        @Override
        public boolean isRunning() {
            return process.isAlive();
        }

        @Override
        public String output() {
            return read(log);
        }

        @Override
        public void signal(String name) {
            try {
                Process unused = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** Reads a text file; empty when it does not exist. */
    static String read(Path file) {
        try {
            return Files.exists(file) ? new String(Files.readAllBytes(file), StandardCharsets.UTF_8) : "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void empty(Path directory) {
        delete(directory);
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void delete(Path directory) {
        if (!Files.exists(directory)) {
            return;
        }
        try (var paths = Files.walk(directory)) {
            for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot delete " + directory, e);
        }
    }
}

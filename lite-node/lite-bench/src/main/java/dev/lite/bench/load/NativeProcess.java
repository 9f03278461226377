package dev.lite.bench.load;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** A server that is not ours, with its log in a file; killed at the end, also when the benchmark is terminated. Used by one thread. */
public final class NativeProcess implements AutoCloseable {
    private static final Duration END = Duration.ofSeconds(10);

    private final String name;
    private final Process process;
    private final Thread hook;

    private NativeProcess(String name, Process process) {
        this.name = name;
        this.process = process;
        hook = Thread.ofPlatform().unstarted(process::destroyForcibly);
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /** Starts a command. */
    public static NativeProcess start(String name, Path log, List<String> command) {
        try {
            return new NativeProcess(
                    name,
                    new ProcessBuilder(command)
                            .redirectErrorStream(true)
                            .redirectOutput(log.toFile())
                            .start());
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start " + name, e);
        }
    }

    /** The process's id. */
    public long pid() {
        return process.pid();
    }

    @Override
    public void close() {
        process.destroyForcibly();
        try {
            if (!process.waitFor(END)) {
                System.err.printf("%s, process %d, did not end within %s%n", name, process.pid(), END);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        Runtime.getRuntime().removeShutdownHook(hook);
    }
}

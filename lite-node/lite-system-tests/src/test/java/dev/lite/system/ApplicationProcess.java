package dev.lite.system;

import dev.lite.testing.Waits;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A process of {@link CommandedApplication}. Used by one thread. */
final class ApplicationProcess implements AutoCloseable {
    private static final Duration DEADLINE = Waits.seconds(60);

    private final Process process;
    private final Writer input;
    private final BufferedReader output;

    private ApplicationProcess(Process process) {
        this.process = process;
        this.input = process.outputWriter(StandardCharsets.UTF_8);
        this.output = process.inputReader(StandardCharsets.UTF_8);
    }

    /**
     * Starts an application.
     *
     * @param launcher a command that starts the one that follows; empty for none
     */
    static ApplicationProcess start(List<String> launcher, String classPath, Path socket) {
        List<String> command = new ArrayList<>(launcher);
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                classPath,
                CommandedApplication.class.getName(),
                socket.toString(),
                Long.toString(DEADLINE.toSeconds())));
        try {
            return new ApplicationProcess(
                    new ProcessBuilder(command).redirectErrorStream(true).start());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The process. */
    Process process() {
        return process;
    }

    /** What it says of its attach: "attached", or "refused: " and the reason. */
    String attached() {
        String line = line();
        // Other output is that of the JVM, or a log.
        while (!line.equals("attached") && !line.startsWith("refused: ")) {
            System.out.println("application: " + line);
            line = line();
        }
        return line;
    }

    /** Executes a command, and returns its result. */
    String ask(String command) {
        try {
            input.write(command + "\n");
            input.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return line();
    }

    private String line() {
        CompletableFuture<String> line = new CompletableFuture<>();
        Thread unused = Thread.ofVirtual().start(() -> {
            try {
                String read = output.readLine();
                line.complete(read == null ? "refused: the process has ended" : read);
            } catch (IOException e) {
                line.completeExceptionally(e);
            }
        });
        return line.orTimeout(2 * DEADLINE.toNanos(), TimeUnit.NANOSECONDS).join();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}

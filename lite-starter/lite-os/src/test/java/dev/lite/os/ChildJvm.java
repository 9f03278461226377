package dev.lite.os;

import dev.lite.testing.Waits;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A second JVM with the class path of this one. Closing kills it if it still runs. */
final class ChildJvm implements AutoCloseable {
    private final Process process;
    private final BufferedReader output;

    private ChildJvm(Process process) {
        this.process = process;
        output = process.inputReader(StandardCharsets.UTF_8);
    }

    static ChildJvm start(Class<?> main, String... arguments) {
        return start("-XX:TieredStopAtLevel=1", main, arguments);
    }

    /** {@link #start} of a JVM with all of its compilers; it starts to be fast later. */
    static ChildJvm startOptimizing(Class<?> main, String... arguments) {
        return start("-XX:+TieredCompilation", main, arguments);
    }

    private static ChildJvm start(String compilers, Class<?> main, String... arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                compilers,
                "-Xmx64m",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        command.addAll(List.of(arguments));
        try {
            return new ChildJvm(new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    int pid() {
        return Math.toIntExact(process.pid());
    }

    /** The next line of its standard output; empty at the end of the output. */
    String line() {
        try {
            var line = output.readLine();
            return line == null ? "" : line;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Sends SIGKILL. */
    void kill() {
        process.destroyForcibly();
    }

    int exitValue() throws InterruptedException {
        if (!process.waitFor(Waits.seconds(20).toNanos(), TimeUnit.NANOSECONDS)) {
            throw new AssertionError("the child did not end");
        }
        return process.exitValue();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}

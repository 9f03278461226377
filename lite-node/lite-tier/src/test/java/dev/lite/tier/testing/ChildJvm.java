package dev.lite.tier.testing;

import dev.lite.testing.Waits;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A second JVM with the class path of this one. Closing kills it if it still runs. */
public final class ChildJvm implements AutoCloseable {
    private final Process process;
    private final BufferedReader output;

    private ChildJvm(Process process) {
        this.process = process;
        output = process.inputReader(StandardCharsets.UTF_8);
    }

    public static ChildJvm start(Class<?> main, String... arguments) {
        return start(List.of(), main, arguments);
    }

    /** Starts a JVM with additional JVM arguments. */
    public static ChildJvm start(List<String> jvm, Class<?> main, String... arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Xmx64m"));
        command.addAll(jvm);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(arguments));
        try {
            return new ChildJvm(new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The next line of its standard output; null at its end. */
    public @Nullable String line() {
        try {
            return output.readLine();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Sends SIGKILL and waits for the end. Its earlier output can still be read. */
    public void kill() {
        process.toHandle().destroyForcibly();
        try {
            if (!process.waitFor(Waits.seconds(20).toNanos(), TimeUnit.NANOSECONDS)) {
                throw new AssertionError("the child did not end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    @Override
    public void close() {
        kill();
        process.destroyForcibly(); // closes the pipes
    }
}

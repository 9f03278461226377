package dev.lite.session.channel;

import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.Turns;
import dev.lite.testing.Waits;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A channel to a {@link ServerProcess}. */
final class ChannelProcess implements AutoCloseable {
    final ChannelArea area = new ChannelArea(ChannelArea.SLOTS_MAX, 8192);
    final ChannelCaller caller;
    final Process process;
    private final BufferedReader output;

    /** Starts the process and waits until it serves. */
    ChannelProcess(int threads, int spins) {
        SharedMemory memory = area.create();
        String path = "/proc/%d/fd/%d".formatted(ProcessHandle.current().pid(), memory.descriptor());
        caller = new ChannelCaller(memory, area, "echo at node-1", spins, new Turns());
        List<String> command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-Xmx64m",
                "-cp",
                System.getProperty("java.class.path"),
                ServerProcess.class.getName(),
                path,
                Integer.toString(area.slots()),
                Integer.toString(area.windowBytes()),
                Integer.toString(threads),
                Integer.toString(spins));
        try {
            process = new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            output = process.inputReader(StandardCharsets.UTF_8);
        } catch (IOException e) {
            caller.close();
            throw new UncheckedIOException(e);
        }
        if (!"serving".equals(line())) {
            close();
            throw new AssertionError("the process does not serve");
        }
    }

    /** The next line of the process's output; empty at its end. */
    String line() {
        try {
            String line = output.readLine();
            return line == null ? "" : line;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits until the process has ended; returns its exit value. */
    int awaitEnd() throws InterruptedException {
        if (!process.waitFor(Waits.seconds(20).toNanos(), TimeUnit.NANOSECONDS)) {
            throw new AssertionError("the process did not end");
        }
        return process.exitValue();
    }

    @Override
    public void close() {
        caller.close();
        process.destroyForcibly();
    }
}

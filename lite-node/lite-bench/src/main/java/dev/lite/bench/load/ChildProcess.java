package dev.lite.bench.load;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A JVM that answers lines with lines and ends with its input. Killed when this process ends, and when it does not answer
 * in time. Used by one thread.
 */
public final class ChildProcess implements AutoCloseable {
    private static final Duration END = Duration.ofSeconds(20);
    private static final String GONE = "\0";

    private final String name;
    private final Process process;
    private final PrintStream input;
    /** Bounded by the protocol: one answer for each command. */
    private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

    private final Thread hook;

    private ChildProcess(String name, Process process) {
        this.name = name;
        this.process = process;
        input = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
        hook = Thread.ofPlatform().unstarted(process::destroyForcibly);
        Runtime.getRuntime().addShutdownHook(hook);
        Thread.ofPlatform().daemon().name("answers of " + name).start(this::readAnswers);
    }

    /**
     * Starts a JVM with this process's class path.
     *
     * @param name for messages
     * @param options of the JVM
     */
    public static ChildProcess java(String name, List<String> options, Class<?> main, List<String> arguments) {
        return java(List.of(), name, options, main, arguments);
    }

    /**
     * Starts a JVM with another class path.
     *
     * @param main the class with the method {@code main}
     */
    public static ChildProcess java(String name, List<String> options, String classPath, String main) {
        return java(List.of(), name, options, classPath, main, List.of());
    }

    /**
     * Starts a JVM by another command.
     *
     * @param by a command that becomes the one after it, as {@code ip netns exec NAMESPACE} does
     */
    public static ChildProcess java(
            List<String> by, String name, List<String> options, Class<?> main, List<String> arguments) {
        return java(by, name, options, System.getProperty("java.class.path"), main.getName(), arguments);
    }

    private static ChildProcess java(
            List<String> by, String name, List<String> options, String classPath, String main, List<String> arguments) {
        List<String> command = new ArrayList<>(by);
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Xms256m",
                "-Xmx256m",
                "-XX:+UseSerialGC",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"));
        command.addAll(options);
        String more = System.getProperty("lite.bench.options", "");
        if (!more.isBlank()) {
            command.addAll(List.of(more.trim().split("\\s+")));
        }
        command.addAll(List.of("-classpath", classPath, main));
        command.addAll(arguments);
        try {
            return new ChildProcess(
                    name,
                    new ProcessBuilder(command)
                            .redirectError(ProcessBuilder.Redirect.INHERIT)
                            .start());
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start " + name, e);
        }
    }

    private void readAnswers() {
        try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                answers.add(line);
            }
        } catch (IOException e) {
            // The process has ended.
        }
        answers.add(GONE);
    }

    /** Sends one line. */
    public void send(String line) {
        input.println(line);
    }

    /**
     * Waits for the next answer.
     *
     * @return the answer without {@code ok}
     * @throws IllegalStateException when it is an error, did not come in time, or the process has ended
     */
    public String answer(Duration timeout) {
        String answer;
        try {
            answer = answers.poll(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
        if (answer == null) {
            process.destroyForcibly();
            throw new IllegalStateException("%s did not answer within %s".formatted(name, timeout));
        }
        if (answer.equals(GONE)) {
            answers.add(GONE);
            throw new IllegalStateException("the process of %s has ended".formatted(name));
        }
        if (!answer.startsWith(PartyMain.OK)) {
            throw new IllegalStateException("%s: %s".formatted(name, answer));
        }
        return answer.substring(PartyMain.OK.length());
    }

    /** CPU time so far. */
    public Duration cpuTime() {
        return process.info().totalCpuDuration().orElse(Duration.ZERO);
    }

    /** Ends the process: by the end of its input, or by force if it takes long. */
    @Override
    public void close() {
        input.close();
        try {
            if (!process.waitFor(END)) {
                System.err.printf("%s, process %d, did not end within %s%n", name, process.pid(), END);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            process.destroyForcibly();
            Runtime.getRuntime().removeShutdownHook(hook);
        }
    }
}

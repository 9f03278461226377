package dev.lite.local;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One process of a {@link LocalCluster}. Its output goes to its log file. A process that writes its log itself,
 * because its command has {@link #LOG_OPTION}, has a file beside it for what it and its JVM print. When it is ready,
 * it writes its ready file (Java properties, including its {@code pid}). Any thread may call any method.
 */
public final class LocalProcess {

    /** The option of manager and node with the file that they log to. */
    static final String LOG_OPTION = "--logging.file.name=";

    /** The option of a JVM with the file for the report of its crash, in which %p is its process id. */
    static final String CRASH_OPTION = "-XX:ErrorFile=";

    /** What a JVM replaces in the name of that file. */
    private static final Pattern FOR_JVM = Pattern.compile("%[%p]");

    private static final int LAST_LINES = 20;
    /** More than the room that may be left in the last block of a file on a full disk. */
    private static final int PROBE_BYTES = 64 << 10;

    private static final int SILENCES_MAX = 10;
    private static final long POLL_NS = TimeUnit.MILLISECONDS.toNanos(25);

    private final String name;
    private final Path log;
    private final Path output; // the log, unless the process writes that itself
    private final @Nullable Path readyFile;
    private final @Nullable Path crashReport; // exists after a crash
    private final Process process;
    private final @Nullable Thread relay;
    private volatile Properties ready = new Properties();

    private LocalProcess(
            String name,
            Path log,
            Path output,
            @Nullable Path readyFile,
            @Nullable Path crashReport,
            Process process,
            @Nullable Consumer<String> lines) {
        this.name = name;
        this.log = log;
        this.output = output;
        this.readyFile = readyFile;
        this.crashReport = crashReport;
        this.process = process;
        this.relay = lines == null
                ? null
                : Thread.ofPlatform().daemon().name("output of " + name).start(() -> relay(lines));
    }

    /**
     * Starts a process. Its output is appended to {@code log}, or to {@link #output} if it writes that log itself;
     * {@code lines} also receives each line, on a thread of its own.
     */
    static LocalProcess start(
            String name, List<String> command, Path log, @Nullable Path readyFile, @Nullable Consumer<String> lines) {
        Path output = command.contains(LOG_OPTION + log) ? output(log) : log;
        try {
            if (readyFile != null) {
                Files.deleteIfExists(readyFile);
            }
            ProcessBuilder builder = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectInput(
                            ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()));
            if (lines == null) {
                builder.redirectOutput(ProcessBuilder.Redirect.appendTo(output.toFile()));
            }
            Process process = builder.start();
            return new LocalProcess(name, log, output, readyFile, crashReport(command, process.pid()), process, lines);
        } catch (IOException e) {
            throw new ProcessFailedException(
                    "%s could not be started with %s: %s".formatted(name, command.getFirst(), e.getMessage()), e);
        }
    }

    /** The file for what a process prints that writes its log itself. */
    static Path output(Path log) {
        return log.resolveSibling(log.getFileName().toString().replaceFirst("\\.log$", "") + ".out");
    }

    /** Where its JVM reports a crash; null if its command does not say so. The last option counts. */
    private static @Nullable Path crashReport(List<String> command, long pid) {
        return command.stream()
                .filter(argument -> argument.startsWith(CRASH_OPTION))
                .reduce((first, second) -> second)
                .map(option -> FOR_JVM.matcher(option.substring(CRASH_OPTION.length()))
                        .replaceAll(match -> match.group().equals("%p") ? Long.toString(pid) : "%"))
                .map(Path::of)
                .orElse(null);
    }

    /** The process's name in the cluster, for example {@code node-1}. */
    public String name() {
        return name;
    }

    /** Its process id. */
    public long pid() {
        return process.pid();
    }

    /** Whether it is running. */
    public boolean isAlive() {
        return process.isAlive();
    }

    /** The file with its log; also with its output, unless it writes the log itself. */
    public Path log() {
        return log;
    }

    /** A value of its ready file; empty before it is ready. */
    public Optional<String> property(String key) {
        return Optional.ofNullable(ready.getProperty(key));
    }

    /** The URL of its health endpoint, if its ready file has one. */
    public Optional<String> health() {
        return property("health");
    }

    /**
     * Waits until the process ends.
     *
     * @return its exit status, or empty when it is still running after {@code deadline}
     */
    public OptionalInt awaitExit(Duration deadline) {
        if (!awaitEnd(deadline.toNanos())) {
            return OptionalInt.empty();
        }
        if (relay != null) {
            join(relay);
        }
        return OptionalInt.of(process.exitValue());
    }

    /** The last lines of its log and its output, for messages. */
    public String lastLines() {
        String ofLog = lastLines(log);
        if (output.equals(log) || bytes(output) == 0) {
            return ofLog;
        }
        return bytes(log) == 0 ? lastLines(output) : "%s%n  and of %s:%n%s".formatted(ofLog, output, lastLines(output));
    }

    private static String lastLines(Path file) {
        ArrayDeque<String> last = new ArrayDeque<>();
        try (BufferedReader reader = Files.newBufferedReader(file, StandardCharsets.ISO_8859_1)) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                if (last.size() == LAST_LINES) {
                    last.removeFirst();
                }
                last.addLast("    " + line);
            }
        } catch (IOException e) {
            return "    (no log: %s)".formatted(e.getMessage());
        }
        return last.isEmpty() ? "    (its log is empty)" : String.join("\n", last);
    }

    /**
     * Waits for the ready file of this process.
     *
     * @param silence the longest time without output: a slow start prints something meanwhile, and one that hangs does not. The
     *     whole start may take {@value #SILENCES_MAX} times as long
     * @throws ProcessFailedException when the process ends first, or makes no progress; it is then killed
     */
    void awaitReady(Duration silence) {
        awaitReadyOr(() -> false, silence);
    }

    /**
     * Like {@link #awaitReady}, but also returns when {@code enough} is true, which is checked repeatedly.
     *
     * @return whether it is ready
     */
    boolean awaitReadyOr(BooleanSupplier enough, Duration silence) {
        long startNs = System.nanoTime();
        long printedNs = startNs;
        long printedBytes = 0;
        while (!readReadyFile()) {
            if (enough.getAsBoolean()) {
                return false;
            }
            if (!process.isAlive()) {
                throw new ProcessFailedException("%s %s before it was ready%s; the last lines of %s:%n%s"
                        .formatted(name, end(process.exitValue()), clues(), shown(), lastLines()));
            }
            long nowNs = System.nanoTime();
            long bytes = bytes(log) + bytes(output);
            if (bytes != printedBytes) {
                printedBytes = bytes;
                printedNs = nowNs;
            }
            if (nowNs - printedNs >= silence.toNanos()) {
                throw tooSlow("printed nothing for " + seconds(silence));
            }
            if (nowNs - startNs >= silence.multipliedBy(SILENCES_MAX).toNanos()) {
                throw tooSlow("was not ready within " + seconds(silence.multipliedBy(SILENCES_MAX)));
            }
            // Wait for the end of the process, to notice a failure immediately, and check for the file in between.
            awaitEnd(Math.min(POLL_NS, silence.toNanos()));
        }
        return true;
    }

    /** The file whose lines {@link #lastLines()} begins with. */
    private Path shown() {
        return bytes(log) == 0 ? output : log;
    }

    private static String seconds(Duration duration) {
        return Math.ceilDiv(duration.toMillis(), 1000) + " s";
    }

    private ProcessFailedException tooSlow(String reason) {
        kill();
        return new ProcessFailedException(
                "timeout: %s %s while starting, and was killed; it had not failed by itself%s. The last lines of %s:%n%s"
                        .formatted(name, reason, clues(), shown(), lastLines()));
    }

    /** What its last lines do not tell, or not at all on a full disk. */
    private String clues() {
        String crash = crashReport != null && Files.exists(crashReport)
                ? "; the report of the crash of its JVM is " + crashReport
                : "";
        String problem = unwritable(output);
        return problem == null ? crash : "%s; %s".formatted(crash, problem);
    }

    /** Why nothing can be written beside a file, such as on a full disk; null if it can. */
    private static @Nullable String unwritable(Path file) {
        Path probe = file.resolveSibling(file.getFileName() + ".probe");
        try {
            try {
                Files.write(probe, new byte[PROBE_BYTES]);
            } finally {
                Files.deleteIfExists(probe);
            }
            return null;
        } catch (IOException e) {
            String reason = e instanceof FileSystemException ofFile && ofFile.getReason() != null
                    ? ofFile.getReason()
                    : e.getMessage();
            return "nothing can be written into %s, so its last lines may be missing: %s"
                    .formatted(file.getParent(), reason);
        }
    }

    private static String end(int status) {
        return status > 128
                ? "was killed by signal %d".formatted(status - 128)
                : "ended with status %d".formatted(status);
    }

    private static long bytes(Path file) {
        try {
            return Files.size(file);
        } catch (IOException e) {
            return 0; // not created yet
        }
    }

    /** Sends SIGKILL and waits until the process has ended. */
    void kill() {
        process.toHandle().destroyForcibly();
        awaitEndOfStopped(TimeUnit.SECONDS.toNanos(10));
    }

    /** Sends SIGSTOP: the process is paused until {@link #resume}. */
    public void pause() {
        signal("STOP");
    }

    /** Sends SIGCONT, which resumes a paused process. */
    public void resume() {
        signal("CONT");
    }

    private void signal(String signal) {
        try {
            Process kill = new ProcessBuilder("kill", "-" + signal, Long.toString(pid()))
                    .redirectErrorStream(true)
                    .start();
            String output = new String(kill.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            if (kill.waitFor() != 0) {
                throw new ProcessFailedException("cannot send SIG%2$s to %1$s: %3$s".formatted(name, signal, output));
            }
        } catch (IOException e) {
            throw new ProcessFailedException(
                    "cannot send SIG%2$s to %1$s: %3$s".formatted(name, signal, e.getMessage()), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ProcessFailedException("interrupted while sending SIG%s to %s".formatted(signal, name), e);
        }
    }

    /** Sends SIGTERM without waiting. */
    void terminate() {
        // Not Process.destroy(), which also closes the pipe and would lose the process's last output.
        process.toHandle().destroy();
    }

    /**
     * Sends SIGTERM, and SIGKILL if the process has not ended by the deadline.
     *
     * @return whether it ended before SIGKILL
     */
    public boolean stop(Duration deadline) {
        terminate();
        boolean ended = awaitEndOfStopped(deadline.toNanos());
        if (!ended) {
            kill();
        }
        return ended;
    }

    private boolean readReadyFile() {
        if (readyFile == null || !Files.exists(readyFile)) {
            return false;
        }
        Properties found = new Properties();
        try (Reader reader = Files.newBufferedReader(readyFile)) {
            found.load(reader);
        } catch (IOException e) {
            return false;
        }
        if (!Long.toString(process.pid()).equals(found.getProperty("pid"))) {
            return false;
        }
        ready = found;
        return true;
    }

    private void relay(Consumer<String> lines) {
        try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8);
                BufferedWriter file =
                        Files.newBufferedWriter(log, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                file.write(line);
                file.newLine();
                file.flush();
                lines.accept(line);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the output of " + name, e);
        }
    }

    private boolean awaitEnd(long timeoutNs) {
        try {
            return process.waitFor(timeoutNs, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ProcessFailedException("interrupted while waiting for " + name, e);
        }
    }

    /** Waits also if this thread is interrupted: otherwise a cluster that is closed would be left half running. */
    private boolean awaitEndOfStopped(long timeoutNs) {
        long endNs = System.nanoTime() + timeoutNs;
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return process.waitFor(endNs - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join(TimeUnit.SECONDS.toMillis(5));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

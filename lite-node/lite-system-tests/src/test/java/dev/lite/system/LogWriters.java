package dev.lite.system;

import dev.lite.testing.CommitChecker;
import dev.lite.testing.Waits;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Processes of {@link LogWriter}, and what they print. Used by one thread. */
final class LogWriters implements AutoCloseable {
    private final String log;
    private final CommitChecker checker;
    private final List<Writer> writers = new ArrayList<>();

    LogWriters(String log, CommitChecker checker) {
        this.log = log;
        this.checker = checker;
    }

    /** One process. */
    static final class Writer {
        final Process process;
        final AtomicInteger acknowledged = new AtomicInteger();
        final AtomicInteger refused = new AtomicInteger();
        final AtomicInteger uncertain = new AtomicInteger();
        private final Thread reading;
        private volatile boolean ended;

        private Writer(Process process, int number, CommitChecker checker) {
            this.process = process;
            reading = Thread.ofPlatform().daemon().start(() -> read(number, checker));
        }

        /** Also what a killed process had printed. */
        private void read(int number, CommitChecker checker) {
            try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
                for (String line = output.readLine(); line != null; line = output.readLine()) {
                    String[] words = line.split(" ", -1);
                    if (line.equals("END")) {
                        ended = true;
                    } else if (words[0].equals("A") && words.length == 3) { // not cut by the kill
                        acknowledged.incrementAndGet();
                        checker.acknowledge(number, Integer.parseInt(words[1]), Long.parseLong(words[2]));
                    } else if (words[0].equals("R")) {
                        refused.incrementAndGet();
                        checker.refuse(number, Integer.parseInt(words[1]));
                    } else if (words[0].equals("U")) {
                        uncertain.incrementAndGet();
                    }
                }
            } catch (IOException e) {
                // The process was killed.
            }
        }

        void awaitMore(int count) {
            int before = acknowledged.get();
            Waits.until(
                    "%d more acknowledged commits of %s".formatted(count, this),
                    Waits.seconds(90),
                    () -> acknowledged.get() >= before + count || !process.isAlive());
            if (!process.isAlive()) {
                throw new AssertionError(this + " has ended");
            }
        }

        @Override
        public String toString() {
            return "process %d: %s acknowledged, %s refused, %s uncertain"
                    .formatted(process.pid(), acknowledged, refused, uncertain);
        }
    }

    Writer start(Path socket) {
        try {
            Process process = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-Xmx64m",
                            "-XX:+UseSerialGC",
                            "-XX:TieredStopAtLevel=1",
                            "--enable-native-access=ALL-UNNAMED",
                            "-Dlite.test.time-scale=" + System.getProperty("lite.test.time-scale", "1"),
                            "-cp",
                            System.getProperty("java.class.path"),
                            LogWriter.class.getName(),
                            Long.toString(ProcessHandle.current().pid()),
                            socket.toString(),
                            log,
                            Integer.toString(writers.size()))
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            Writer writer = new Writer(process, writers.size(), checker);
            writers.add(writer);
            return writer;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start a writer", e);
        }
    }

    void kill(Writer writer) {
        writer.process.destroyForcibly();
        Waits.join(writer.reading);
        Waits.until(writer + " has ended", () -> !writer.process.isAlive());
    }

    /** Ends those that still run, and waits for all that they printed. */
    void finish() {
        for (Writer writer : writers) {
            if (writer.process.isAlive()) {
                try {
                    writer.process.getOutputStream().write('\n');
                    writer.process.getOutputStream().flush();
                    if (!writer.process.waitFor(Waits.seconds(90).toNanos(), TimeUnit.NANOSECONDS)) {
                        throw new AssertionError(writer + " did not end");
                    }
                } catch (IOException e) {
                    throw new UncheckedIOException("cannot end " + writer, e);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new AssertionError("interrupted", e);
                }
                Waits.join(writer.reading);
                if (!writer.ended) {
                    throw new AssertionError(writer + " failed");
                }
            }
            System.out.println(writer);
        }
    }

    @Override
    public void close() {
        writers.forEach(writer -> writer.process.destroyForcibly());
    }
}

package dev.lite.demo.example;

import dev.lite.api.Lite;
import dev.lite.mr.Input;
import dev.lite.mr.JobResult;
import dev.lite.mr.JobSpec;
import dev.lite.mr.MapReduce;
import dev.lite.mr.MrMain;
import dev.lite.mr.Output;
import dev.lite.mr.jobs.InvertedIndex;
import dev.lite.mr.jobs.WordCount;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * Two jobs over files, with a worker process beside each of two nodes; one worker is killed on the way. One thread.
 */
public final class MrExample {
    private static final String GROUP = "example";
    private static final int WORKERS = 2;
    private static final int SHOWN = 5;
    private static final int MAPS_BEFORE_KILL = 8;
    private static final long SPLIT_BYTES = 128 << 10;
    private static final long POLL_NS = 10_000_000;
    private static final Duration SOON = Duration.ofSeconds(60);

    private final Lite lite;
    private final List<Path> sockets;
    private final Input[] inputs;
    private final Consumer<String> lines;
    private final List<Process> workers = new ArrayList<>();

    /**
     * @param lite the master's session; it stays the caller's
     * @param sockets of at least two nodes
     * @param files texts
     * @param lines receives what the example has to say
     */
    public MrExample(Lite lite, List<Path> sockets, List<Path> files, Consumer<String> lines) {
        this.lite = lite;
        this.sockets = List.copyOf(sockets);
        inputs = files.stream().map(Input::file).toArray(Input[]::new);
        this.lines = lines;
    }

    /**
     * Runs the example.
     *
     * @throws IllegalStateException if a job did not end in time
     */
    public void run() {
        try (MapReduce master = MapReduce.open(lite, GROUP)) {
            for (int i = 0; i < WORKERS; i++) {
                workers.add(startWorker(sockets.get(i)));
            }
            await("workers", () -> master.workers() == WORKERS);
            count(master);
            index(master);
        } finally {
            workers.forEach(Process::destroyForcibly);
        }
    }

    private static Process startWorker(Path socket) {
        List<String> command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Xmx512m",
                "-XX:+UseSerialGC",
                "-classpath",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                MrMain.class.getName(),
                "worker",
                socket.toString(),
                GROUP,
                "1");
        try {
            return new ProcessBuilder(command)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start a worker", e);
        }
    }

    private void count(MapReduce master) {
        lines.accept("Word count, with %d workers:".formatted(WORKERS));
        JobResult counts = master.run(JobSpec.of(WordCount.class, inputs), status -> {});
        lines.accept(master.status().progressBar());
        counts.pairs().stream()
                .sorted(Comparator.comparingLong(
                                (JobResult.Pair pair) -> pair.value().getLong(0))
                        .reversed())
                .limit(SHOWN)
                .forEach(pair -> lines.accept("  %,11d  %s"
                        .formatted(pair.value().getLong(0), pair.key().text())));
    }

    private void index(MapReduce master) {
        lines.accept("Inverted index, with a worker that is killed:");
        Path file = temporaryFile();
        try {
            JobSpec spec = JobSpec.of(InvertedIndex.class, inputs)
                    .withSplitBytes(SPLIT_BYTES)
                    .withOutput(Output.file(file));
            CompletableFuture<JobResult> running = CompletableFuture.supplyAsync(() -> master.run(spec));
            await(
                    "the first map tasks",
                    () -> running.isDone() || master.status().mapDone() >= MAPS_BEFORE_KILL);
            workers.getLast().destroyForcibly();
            lines.accept("  Killed worker-%d".formatted(workers.getLast().pid()));
            JobResult result = running.get(SOON.toSeconds(), TimeUnit.SECONDS);
            master.status().toText().lines().forEach(line -> lines.accept("  " + line));
            lines.accept("  " + master.status().toJson());
            int again = result.again().size();
            lines.accept("%,d words in the index; %s again"
                    .formatted(result.pairCount(), again == 1 ? "1 task ran" : again + " tasks ran"));
        } catch (ExecutionException | TimeoutException e) {
            throw new IllegalStateException("the job did not end: " + e, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        } finally {
            delete(file);
        }
    }

    private static Path temporaryFile() {
        try {
            return Files.createTempFile("lite-mr-", ".index");
        } catch (IOException e) {
            throw new UncheckedIOException("cannot make a file for the index", e);
        }
    }

    private static void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot delete " + file, e);
        }
    }

    private static void await(String what, BooleanSupplier condition) {
        long endNs = System.nanoTime() + SOON.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - endNs > 0) {
                throw new IllegalStateException("no %s within %s".formatted(what, SOON));
            }
            LockSupport.parkNanos(POLL_NS);
        }
    }
}

package dev.lite.mr;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.SessionLostException;
import dev.lite.mr.jobs.WordCount;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A worker that cannot write its results: its tasks run again, and the job does not fail, unless that never ends. */
class LostResultsTest {
    @TempDir
    Path directory;

    /** Some calls of a method of a session's memory fail, after the first ones. */
    private static Lite failing(Lite lite, String name, int first, int times, Supplier<LiteException> failure) {
        AtomicInteger calls = new AtomicInteger();
        return WatchedMemory.of(lite, called -> {
            if (called.equals(name)) {
                int call = calls.getAndIncrement();
                if (call >= first && call - first < times) {
                    throw failure.get();
                }
            }
        });
    }

    /** Runs a job with one partition on one worker, which cannot write some of its results, after the first ones. */
    private void run(
            int first,
            int failures,
            Supplier<LiteException> failure,
            BiConsumer<Path, CompletableFuture<JobResult>> check) {
        Path file = TestTexts.write(directory.resolve("text"), 12, 1_000);
        try (TestCluster cluster = TestCluster.start(1, 32 << 20)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            Lite lite = failing(cluster.embedded(0), "register", first, failures, failure);
            cluster.keep(MrWorker.start(
                    lite, WorkerOptions.of(TestCluster.GROUP).withName("only").withThreads(1)));
            TestCluster.awaitWorkers(master, 1);
            check.accept(
                    file,
                    CompletableFuture.supplyAsync(
                            () -> master.run(JobSpec.of(WordCount.class, Input.file(file))
                                    .withPartitions(1)),
                            Thread::startVirtualThread));
        }
    }

    private void runsAgain(int failures, Supplier<LiteException> failure) {
        run(
                0,
                failures,
                failure,
                (file, running) -> assertThat(running)
                        .succeedsWithin(Waits.seconds(60))
                        .satisfies(result -> {
                            assertThat(TestTexts.counts(result)).isEqualTo(TestTexts.countWords(file));
                            assertThat(result.again()).anyMatch(again -> again.startsWith("map task 0 again on only"));
                        }));
    }

    @Test
    void aWorkerWithoutAnAnswerWhileItWritesItsResultsRunsItsTasksAgain() {
        runsAgain(1, () -> new LiteTimeoutException("no answer"));
    }

    @Test
    void aWorkerWhoseNodeIsAwayWhileItWritesItsResultsRunsItsTasksAgain() {
        runsAgain(1, () -> new LmrUnavailableException("the node is away"));
    }

    @Test
    void aWorkerThatLosesItsSessionRunsItsTasksAgain() {
        runsAgain(1, () -> new SessionLostException("the session was lost"));
    }

    @Test
    void aWorkerThatCannotWriteItsResultsSomeTimesRunsItsTasksAgainEachTime() {
        runsAgain(5, () -> new LmrUnavailableException("the node is away"));
    }

    @Test
    void aWorkerThatLosesItsSessionSomeTimesRunsItsTasksAgainEachTime() {
        runsAgain(12, () -> new SessionLostException("the session was lost"));
    }

    @Test
    void aWorkerThatCanNeverWriteItsResultsFailsTheJob() {
        run(
                0,
                Integer.MAX_VALUE,
                () -> new LiteTimeoutException("no answer"),
                (file, running) -> assertThat(running)
                        .failsWithin(Waits.seconds(60))
                        .withThrowableThat()
                        .withCauseInstanceOf(MrException.class)
                        .withMessageContaining("the results of the map task 0 could not be written 11 times")
                        .withMessageContaining("only cannot write its results: no answer"));
    }

    /** With one partition, the first result is that of the map task, and the next one that of the reduce task. */
    @Test
    void aReduceTaskThatCannotWriteItsResultRunsAgainAndSaysWhy() {
        run(
                1,
                2,
                () -> new LiteTimeoutException("no answer"),
                (file, running) -> assertThat(running)
                        .succeedsWithin(Waits.seconds(60))
                        .satisfies(result -> {
                            assertThat(TestTexts.counts(result)).isEqualTo(TestTexts.countWords(file));
                            assertThat(result.again())
                                    .containsOnly(
                                            "reduce task 0 again on only: only cannot write its results: no answer")
                                    .hasSize(2);
                        }));
    }
}

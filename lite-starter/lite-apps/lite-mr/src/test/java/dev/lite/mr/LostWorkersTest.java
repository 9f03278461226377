package dev.lite.mr;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.mr.job.Job;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Workers in processes of their own are killed, or hang: the result stays the same, and the job says what it did again. */
class LostWorkersTest {
    @TempDir
    Path directory;

    private Path file = Path.of("text");
    private SlowJobs.Gate gate = new SlowJobs.Gate(file);

    @BeforeEach
    void writeText() {
        file = TestTexts.write(directory.resolve("text"), 11, 2_000);
        gate = new SlowJobs.Gate(directory);
    }

    private JobSpec spec(Class<? extends Job> job) {
        return JobSpec.of(job, Input.file(file))
                .withParameter("gate", directory.toString())
                .withSplitBytes(4_000);
    }

    private static JobResult get(CompletableFuture<JobResult> running) {
        try {
            return running.get(Waits.seconds(60).toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            throw new AssertionError("the job did not end", e);
        }
    }

    /** Kills the worker whose task has stopped, and checks the result. Returns what ran again. */
    private List<String> killStopped(Class<? extends Job> job) {
        try (TestCluster cluster = TestCluster.start(2, 64 << 20)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            List<Process> workers = new ArrayList<>();
            workers.add(cluster.workerProcess(0, 1));
            workers.add(cluster.workerProcess(1, 1));
            TestCluster.awaitWorkers(master, 2);
            long before = cluster.lmrBytes();
            CompletableFuture<JobResult> running = CompletableFuture.supplyAsync(() -> master.run(spec(job)));
            long stopped = gate.awaitStopped();
            Process victim = workers.stream()
                    .filter(worker -> worker.pid() == stopped)
                    .findFirst()
                    .orElseThrow();
            TestCluster.kill(victim);
            JobResult result = get(running);
            assertThat(TestTexts.counts(result)).isEqualTo(TestTexts.countWords(file));
            assertThat(result.counters()).containsEntry("records", 2_000L);
            assertThat(master.workers()).isEqualTo(1);
            assertThat(result.again()).isNotEmpty().allMatch(again -> again.contains("again on worker-"));
            Waits.until("the job's memory is free", () -> cluster.lmrBytes() <= before);
            return result.again();
        }
    }

    @Test
    void aWorkerKilledInMap() {
        assertThat(killStopped(SlowJobs.SlowMap.class)).anyMatch(again -> again.startsWith("map task"));
    }

    @Test
    void aWorkerKilledInReduce() {
        // Its map results are lost, too.
        assertThat(killStopped(SlowJobs.SlowReduce.class))
                .anyMatch(again -> again.startsWith("reduce task"))
                .anyMatch(again -> again.startsWith("map task"));
    }

    @Test
    void aWorkerKilledInMerge() {
        assertThat(killStopped(SlowJobs.SlowMerge.class)).anyMatch(again -> again.startsWith("merge task"));
    }

    @Test
    void aStragglerGetsASecondCopyAndIsNotCountedTwice() {
        try (TestCluster cluster = TestCluster.start(1, 64 << 20)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            cluster.worker(0, 1);
            cluster.worker(0, 1);
            TestCluster.awaitWorkers(master, 2);
            CompletableFuture<JobResult> running =
                    CompletableFuture.supplyAsync(() -> master.run(spec(SlowJobs.SlowMap.class)));
            gate.awaitStopped();
            Waits.until(
                    "a second copy starts",
                    Waits.seconds(30),
                    () -> master.status().again().stream().anyMatch(again -> again.contains("a second time")));
            // The first copy continues only when the second is done and accepted.
            Waits.until(
                    "the task is done",
                    Waits.seconds(30),
                    () -> master.status().mapDone() == master.status().mapTotal());
            gate.open();
            assertThat(TestTexts.counts(get(running))).isEqualTo(TestTexts.countWords(file));
        }
    }

    @Test
    void aHangingThreadIsDoneWithout() {
        try (TestCluster cluster = TestCluster.start(1, 64 << 20)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            cluster.worker(0, 1);
            cluster.worker(0, 1);
            TestCluster.awaitWorkers(master, 2);
            CompletableFuture<JobResult> running =
                    CompletableFuture.supplyAsync(() -> master.run(spec(SlowJobs.SlowMap.class)));
            gate.awaitStopped();
            Waits.until(
                    "the job does without the thread",
                    Waits.seconds(30),
                    () -> master.status().phase().equals("output"));
            gate.open();
            assertThat(TestTexts.counts(get(running))).isEqualTo(TestTexts.countWords(file));
        }
    }

    @Test
    void aWorkerThatComesLateHelps() {
        try (TestCluster cluster = TestCluster.start(2, 64 << 20)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            CompletableFuture<JobResult> running = CompletableFuture.supplyAsync(
                    () -> master.run(spec(dev.lite.mr.jobs.WordCount.class).withWorkerWait(Waits.seconds(30))));
            Waits.until("the job has begun", () -> master.status().phase().equals("map"));
            cluster.worker(1, 1);
            assertThat(TestTexts.counts(get(running))).isEqualTo(TestTexts.countWords(file));
        }
    }

    @Test
    void workersFindTheNextMaster() {
        try (TestCluster cluster = TestCluster.start(2, 64 << 20)) {
            cluster.worker(1, 1);
            for (int i = 0; i < 2; i++) {
                try (MapReduce master = MapReduce.open(cluster.embedded(0), TestCluster.GROUP)) {
                    TestCluster.awaitWorkers(master, 1);
                    assertThat(TestTexts.counts(master.run(spec(dev.lite.mr.jobs.WordCount.class))))
                            .isEqualTo(TestTexts.countWords(file));
                }
            }
        }
    }
}

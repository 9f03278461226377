package dev.lite.mr;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.mr.job.Job;
import dev.lite.mr.jobs.WordCount;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Files;
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
            // On a slow machine a task may get a second copy, too.
            assertThat(result.again().stream().filter(again -> !again.contains(" a second time on ")))
                    .isNotEmpty()
                    .allMatch(again -> again.contains("again on worker-"));
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
    void aStoppedWorkerGetsASecondCopyAndItsLateResultIsNotCounted() throws IOException {
        try (TestCluster cluster = TestCluster.start(2, 64 << 20)) {
            // Long enough that the worker is slow, but not lost.
            MapReduce master = cluster.keep(MapReduce.open(cluster.embedded(0), TestCluster.GROUP, Waits.seconds(120)));
            cluster.workerProcess(0, 1);
            cluster.workerProcess(1, 1);
            TestCluster.awaitWorkers(master, 2);
            CompletableFuture<JobResult> running =
                    CompletableFuture.supplyAsync(() -> master.run(spec(SlowJobs.SlowMap.class)));
            long stopped = gate.awaitStopped();
            // The process stops a moment after the signal. So the gate stays closed: its task must not end in between.
            signal("STOP", stopped);
            try {
                Waits.until(
                        "a second copy starts",
                        Waits.seconds(60),
                        () -> master.status().again().stream().anyMatch(again -> again.contains("a second time")));
                Waits.until(
                        "the task is done elsewhere",
                        Waits.seconds(60),
                        () -> master.status().mapDone() == master.status().mapTotal());
            } finally {
                gate.open();
                signal("CONT", stopped);
            }
            JobResult result = get(running);
            assertThat(TestTexts.counts(result)).isEqualTo(TestTexts.countWords(file));
            assertThat(result.counters()).containsEntry("records", 2_000L);
            TestCluster.awaitWorkers(master, 2);
        }
    }

    private static void signal(String name, long process) throws IOException {
        Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(process))
                .inheritIO()
                .start();
        Waits.until("kill has ended", Waits.seconds(20), () -> !kill.isAlive());
        assertThat(kill.exitValue()).isZero();
    }

    @Test
    void aHangingThreadIsDoneWithoutAndHelpsAgainWhenItReturns() throws IOException {
        SlowJobs.Gate second = new SlowJobs.Gate(Files.createDirectory(directory.resolve("second")));
        try (TestCluster cluster = TestCluster.start(1, 64 << 20)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            cluster.worker(0, 1);
            cluster.worker(0, 1);
            TestCluster.awaitWorkers(master, 2);
            JobSpec spec = spec(SlowJobs.SlowMapAndReduce.class)
                    .withParameter("second", second.directory().toString());
            CompletableFuture<JobResult> running = CompletableFuture.supplyAsync(() -> master.run(spec));
            gate.awaitStopped();
            second.awaitStopped(); // The other thread alone has done the map tasks, and hangs in a reduce task now.
            assertThat(master.status().again()).anyMatch(again -> again.contains("does not return from a task"));
            gate.open();
            Waits.until(
                    "the other reduce tasks are done",
                    Waits.seconds(30),
                    () -> master.status().reduceDone() == master.status().reduceTotal() - 1);
            second.open();
            assertThat(TestTexts.counts(get(running))).isEqualTo(TestTexts.countWords(file));
        }
    }

    @Test
    void aWorkerThatComesLateHelps() {
        try (TestCluster cluster = TestCluster.start(2, 64 << 20)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            CompletableFuture<JobResult> running = CompletableFuture.supplyAsync(
                    () -> master.run(spec(WordCount.class).withWorkerWait(Waits.seconds(30))));
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
                    assertThat(TestTexts.counts(master.run(spec(WordCount.class))))
                            .isEqualTo(TestTexts.countWords(file));
                }
            }
        }
    }

    /** The masters follow each other at one node, as those of a JobRunner do, and each of them has one worker at first. */
    @Test
    void aThreadThatReturnsFromTheJobOfAFormerMasterIsNotTakenForOneOfTheNext() {
        Path other = TestTexts.write(directory.resolve("other"), 13, 4_000);
        try (TestCluster cluster = TestCluster.start(1, 64 << 20)) {
            MapReduce former = cluster.master(cluster.embedded(0));
            cluster.worker(0, 1);
            TestCluster.awaitWorkers(former, 1);
            CompletableFuture<JobResult> failed =
                    CompletableFuture.supplyAsync(() -> former.run(spec(SlowJobs.SlowMap.class)));
            long unused = gate.awaitStopped();
            former.close();
            assertThat(failed).failsWithin(Waits.seconds(60)).withThrowableOfType(ExecutionException.class);

            Lite lite = cluster.embedded(0);
            MapReduce next = cluster.master(lite);
            registerSilent(lite);
            assertThat(next.workers()).isEqualTo(1);
            CompletableFuture<JobResult> running = CompletableFuture.supplyAsync(() ->
                    next.run(JobSpec.of(WordCount.class, Input.file(other)).withSplitBytes(1_000)));
            Waits.until("the job has begun", () -> next.status().phase().equals("map"));
            gate.open();
            assertThat(TestTexts.counts(get(running))).isEqualTo(TestTexts.countWords(other));
        }
    }

    /** A worker that never asks for a task. */
    private static void registerSilent(Lite lite) {
        LmrHandle life = lite.memory().malloc(LmrSpec.of(Long.BYTES).withDefaultPermissions(Permission.READ));
        byte[] request = new Wire.Out(Wire.Ask.REGISTER)
                .text("silent")
                .text(lite.nodeName())
                .number(1)
                .number(life.id())
                .toBytes("a registration");
        assertThat(lite.rpc().callAny(MapReduce.function(TestCluster.GROUP), request, Waits.seconds(10)))
                .isNotEmpty();
    }
}

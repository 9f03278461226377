package dev.lite.mr;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LtRpc;
import dev.lite.api.Permission;
import dev.lite.api.RpcClient;
import dev.lite.mr.job.Emitter;
import dev.lite.mr.jobs.MatrixMultiply;
import dev.lite.mr.jobs.WordCount;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A job that cannot work ends with one message, and nothing of it is left; the next job works. */
class FailingJobsTest {
    @TempDir
    Path directory;

    private TestCluster cluster = TestCluster.start(2, 16 << 20);
    private MapReduce master = cluster.master(cluster.embedded(0));
    private long before;

    @BeforeEach
    void startWorkers() {
        cluster.worker(0, 1);
        cluster.worker(1, 1);
        TestCluster.awaitWorkers(master, 2);
        before = cluster.lmrBytes();
    }

    @AfterEach
    void nothingIsLeftAndTheNextJobWorks() throws IOException {
        assertThat(cluster.lmrBytes()).isEqualTo(before);
        Path file = Files.writeString(directory.resolve("next"), "a b a");
        JobResult result = master.run(JobSpec.of(WordCount.class, Input.file(file)));
        assertThat(TestTexts.counts(result)).containsOnlyKeys("a", "b").containsEntry("a", 2L);
        cluster.close();
    }

    private Path write(String text) throws IOException {
        return Files.writeString(directory.resolve("text"), text);
    }

    private void fails(JobSpec spec, String... parts) {
        CompletableFuture<JobResult> running =
                CompletableFuture.supplyAsync(() -> master.run(spec), Thread::startVirtualThread);
        assertThatThrownBy(() -> running.get(Waits.seconds(60).toNanos(), TimeUnit.NANOSECONDS))
                .cause()
                .isInstanceOf(MrException.class)
                .hasMessageContainingAll(parts);
    }

    @Test
    void aMapperThatThrows() throws IOException {
        Path file = write("good\nfine\npoison\nbetter\n");
        fails(
                JobSpec.of(SlowJobs.Poisoned.class, Input.file(file)).withSplitBytes(6),
                "map failed in file " + file,
                "at the record at byte 10 (\"poison\")",
                "IllegalStateException: cannot digest it");
    }

    @Test
    void aMapperThatFailsWithAnError() throws IOException {
        Path file = write("line\n");
        fails(
                JobSpec.of(SlowJobs.Asserting.class, Input.file(file)),
                "map failed in file " + file,
                "at the record at byte 0 (\"line\")",
                "AssertionError: cannot digest it");
    }

    @Test
    void aMapperThatThrowsAMessageThatIsLongerThanAnyOfLite() throws IOException {
        Path file = write("line\n");
        fails(JobSpec.of(SlowJobs.Verbose.class, Input.file(file)), "map failed in file " + file, "cannot digest itit");
    }

    @Test
    void parametersThatAreLongerThanAnyMessage() throws IOException {
        fails(
                JobSpec.of(WordCount.class, Input.file(write("x"))).withParameter("stopwords", "word ".repeat(20_000)),
                "the job's parameters",
                "a message has at most 65536");
    }

    @Test
    void aJobWhoseThreadIsInterrupted() throws IOException, InterruptedException {
        SlowJobs.Gate gate = new SlowJobs.Gate(directory);
        JobSpec spec = JobSpec.of(SlowJobs.SlowMap.class, Input.file(write("some words\n".repeat(4_000))))
                .withParameter("gate", directory.toString());
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        AtomicBoolean kept = new AtomicBoolean();
        Thread running = Thread.ofPlatform().start(() -> {
            try {
                master.run(spec);
            } catch (MrException e) {
                thrown.set(e);
                kept.set(Thread.currentThread().isInterrupted());
            }
        });
        assertThat(gate.awaitStopped()).isPositive();
        running.interrupt();
        // Else the job might be done before the thread, which needs a processor, looks.
        Waits.until("it noticed the interrupt", () -> !running.isInterrupted());
        gate.open();
        running.join(Waits.seconds(30).toMillis());
        assertThat(thrown.get()).isInstanceOf(MrException.class).hasMessage("interrupted");
        assertThat(kept).isTrue();
        assertThat(master.status().phase()).isEqualTo("idle");
    }

    @Test
    void aMasterThatIsClosedAlready() throws IOException {
        JobSpec spec = JobSpec.of(WordCount.class, Input.file(write("x"))).withWorkerWait(Duration.ofHours(1));
        MapReduce closed = MapReduce.open(cluster.embedded(0), "closed");
        closed.close();
        before = cluster.lmrBytes(); // The word of a lock stays for a minute.
        CompletableFuture<JobResult> running =
                CompletableFuture.supplyAsync(() -> closed.run(spec), Thread::startVirtualThread);
        assertThatThrownBy(() -> running.get(Waits.seconds(20).toNanos(), TimeUnit.NANOSECONDS))
                .cause()
                .isInstanceOf(MrException.class)
                .hasMessageContaining("closed");
    }

    @Test
    void aMasterWhoseSessionWasLost() throws IOException {
        JobSpec spec = JobSpec.of(WordCount.class, Input.file(write("x"))).withWorkerWait(Waits.seconds(1));
        Lite lite = cluster.reattaching(0);
        try (MapReduce lost = MapReduce.open(lite, "lost")) {
            cluster.restartSessions(0);
            assertThatThrownBy(() -> lost.run(spec))
                    .isInstanceOf(MrException.class)
                    .hasMessageContaining("close it and open another one");
        }
        try (MapReduce next = MapReduce.open(lite, "lost")) {
            before = cluster.lmrBytes(); // The word of a lock stays for a minute.
            assertThatThrownBy(() -> next.run(spec))
                    .isInstanceOf(MrException.class)
                    .hasMessageContaining("no worker");
        }
    }

    @Test
    void timeoutsThatNeverEnd() throws IOException {
        Duration forever = ChronoUnit.FOREVER.getDuration();
        JobSpec spec = JobSpec.of(WordCount.class, Input.file(write("x"))).withWorkerWait(forever);
        try (MapReduce patient = MapReduce.open(cluster.embedded(0), "patient", forever)) {
            before = cluster.lmrBytes(); // The word of a lock stays for a minute.
            CompletableFuture<JobResult> running =
                    CompletableFuture.supplyAsync(() -> patient.run(spec), Thread::startVirtualThread);
            Waits.pass(Duration.ofMillis(300)); // some checks without a worker
            try (MrWorker worker = MrWorker.start(
                    cluster.embedded(1), WorkerOptions.of("patient").withThreads(1))) {
                Waits.until("it is registered", worker::isRegistered);
                Waits.pass(Duration.ofMillis(500)); // some checks of the worker's word
                assertThat(running).succeedsWithin(Waits.seconds(20));
                assertThat(patient.workers()).isEqualTo(1);
            }
        }
    }

    @Test
    void anErrorInAThreadOfAWorkerDoesNotLeaveAWorkerWithoutIt() throws IOException {
        JobSpec spec = JobSpec.of(WordCount.class, Input.file(write("x"))).withWorkerWait(Waits.seconds(20));
        AtomicBoolean fails = new AtomicBoolean();
        try (MapReduce shaky = MapReduce.open(cluster.embedded(0), "shaky")) {
            before = cluster.lmrBytes(); // The word of a lock stays for a minute.
            try (MrWorker worker = MrWorker.start(
                    failingOnce(cluster.embedded(1), fails),
                    WorkerOptions.of("shaky").withThreads(1))) {
                Waits.until("it is registered", worker::isRegistered);
                fails.set(true);
                Waits.until("it has met an error", () -> !fails.get());
                CompletableFuture<JobResult> running =
                        CompletableFuture.supplyAsync(() -> shaky.run(spec), Thread::startVirtualThread);
                assertThat(running).succeedsWithin(Waits.seconds(20));
            }
        }
    }

    /** A session whose next call to a master fails with an error when that is asked for. */
    private static Lite failingOnce(Lite lite, AtomicBoolean fails) {
        return proxy(
                Lite.class,
                lite,
                "rpc",
                rpc -> proxy(
                        LtRpc.class,
                        (LtRpc) rpc,
                        "bind",
                        bound -> proxy(RpcClient.class, (RpcClient) bound, "call", reply -> {
                            if (fails.compareAndSet(true, false)) {
                                throw new OutOfMemoryError("of a test");
                            }
                            return reply;
                        })));
    }

    /** Changes what one method returns. */
    private static <T> T proxy(Class<T> type, T real, String name, UnaryOperator<Object> change) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    Object result;
                    try {
                        result = method.invoke(real, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                    return method.getName().equals(name) ? change.apply(result) : result;
                }));
    }

    /** Its master answers after that. */
    @Test
    void aWorkerThatIsClosedWhileItRegistersLeavesNothing() {
        Lite lite = cluster.embedded(0);
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch closed = new CountDownLatch(1);
        AtomicLong life = new AtomicLong();
        cluster.keep(lite.rpc().register(MapReduce.function("slow"), 1, call -> {
            Wire.In in = new Wire.In(call.request().toArray(ValueLayout.JAVA_BYTE));
            assertThat(in.kind(Wire.Ask.class)).isEqualTo(Wire.Ask.REGISTER);
            assertThat(in.text()).isEqualTo("closing");
            assertThat(in.text()).isEqualTo(lite.nodeName());
            assertThat(in.integer()).isEqualTo(1);
            life.set(in.number());
            asked.countDown();
            Waits.until("the worker is closed", () -> closed.getCount() == 0);
            return MemorySegment.ofArray(
                    new Wire.Out().number(1).text(lite.nodeName()).toBytes("a registration"));
        }));
        MrWorker worker = MrWorker.start(
                cluster.embedded(0),
                WorkerOptions.of("slow").withName("closing").withThreads(1));
        Waits.until("it registers", () -> asked.getCount() == 0);
        worker.close();
        closed.countDown();
        Waits.until("its word is freed", () -> {
            try {
                lite.memory().map(life.get(), Permission.READ).unmap();
                return false;
            } catch (LmrNotFoundException e) {
                return true;
            }
        });
        // The name of a freed LMR is gone before its memory is free.
        Waits.until("its memory is free", () -> cluster.lmrBytes() == before);
        assertThat(worker.isRegistered()).isFalse();
    }

    @Test
    void aReducerThatThrows() throws IOException {
        Path file = write("good\npoison\n");
        fails(
                JobSpec.of(SlowJobs.PoisonedReduce.class, Input.file(file)),
                "reduce failed at the key \"poison\"",
                "cannot digest it");
    }

    @Test
    void aFileThatDoesNotExist() {
        fails(
                JobSpec.of(WordCount.class, Input.file(directory.resolve("missing"))),
                "cannot read file " + directory.resolve("missing"));
        fails(JobSpec.of(WordCount.class, Input.file(directory)), "cannot read file " + directory);
    }

    @Test
    void anLmrThatDoesNotExist() {
        fails(JobSpec.of(WordCount.class, Input.lmr("missing")), "cannot read LMR \"missing\"");
    }

    @Test
    void tooLittleArena() throws IOException {
        Path file = write("line\n".repeat(20));
        fails(
                JobSpec.of(SlowJobs.Expanding.class, Input.file(file)).withSplitBytes(5),
                "has too little memory for its results");
        // At the first thread with more than 64 MiB of results; the others keep at most as much.
        assertThat(master.status().mapDone()).isLessThan(20);
    }

    @Test
    void aSetupOrAFormatThatThrows() throws IOException {
        Path file = write("line\n");
        fails(JobSpec.of(SlowJobs.LongKey.class, Input.file(file)).withParameter("length", "x"), "setup of", "\"x\"");
        Path out = directory.resolve("out");
        fails(
                JobSpec.of(SlowJobs.PoisonedFormat.class, Input.file(file)).withOutput(Output.file(out)),
                "format failed at the key \"line\"",
                "cannot digest it");
        assertThat(directory).isDirectoryNotContaining("glob:**out*");
    }

    @Test
    void aPartitionThatThrows() throws IOException {
        fails(
                JobSpec.of(SlowJobs.PoisonedPartition.class, Input.file(write("line\n"))),
                "partition or compare failed",
                "cannot digest it");
    }

    @Test
    void aComparisonThatThrowsInTheMerge() throws IOException {
        fails(
                JobSpec.of(SlowJobs.PoisonedMerge.class, Input.file(write("a\nb\nc\nd\ne\nf\ng\nh\n"))),
                "merge failed",
                "cannot digest it");
    }

    @Test
    void aKeyOverTheLimit() throws IOException {
        Path file = write("line\n");
        JobSpec spec = JobSpec.of(SlowJobs.LongKey.class, Input.file(file));
        fails(
                spec.withParameter("length", Integer.toString(Emitter.KEY_BYTES_MAX + 1)),
                "the key has 32769 bytes; the limit is 32768",
                "at the record at byte 0");
        assertThat(master.run(spec.withParameter("length", Integer.toString(Emitter.KEY_BYTES_MAX)))
                        .pairs())
                .hasSize(1);
    }

    @Test
    void aJobThatCannotBeMade() throws IOException {
        fails(JobSpec.of(SlowJobs.Hidden.class, Input.file(write("x"))), "needs to be public");
    }

    @Test
    void anOutputThatExistsOrCannotBeWritten() throws IOException {
        JobSpec spec = JobSpec.of(WordCount.class, Input.file(write("x")));
        fails(
                spec.withOutput(Output.file(directory.resolve("nowhere").resolve("out"))),
                "cannot write file " + directory.resolve("nowhere").resolve("out"));
        fails(spec.withOutput(Output.file(directory)), "cannot write file " + directory);
        Path tooLong = directory.resolve("x".repeat(256));
        fails(
                spec.withOutput(Output.file(tooLong)),
                "cannot write file %s: its name has 256 bytes; the limit is 255".formatted(tooLong));
    }

    @Test
    void recordsThatDoNotFit() throws IOException {
        fails(
                JobSpec.of(WordCount.class, Input.file(write("0123456789"))).withFormat(RecordFormat.fixed(1, 4)),
                "has 10 bytes; these are not records of 4 bytes after a header of 1");
    }

    @Test
    void linesOfAnInputThatIsShorterThanItsHeader() throws IOException {
        fails(
                JobSpec.of(WordCount.class, Input.file(write("0123456789"))).withFormat(new RecordFormat(11, 0)),
                "has 10 bytes; these are no lines after a header of 11");
    }

    @Test
    void aLineOverTheLimit() throws IOException {
        String longest = " ".repeat(RecordFormat.RECORD_BYTES_MAX - 1) + "b";
        JobSpec spec = JobSpec.of(WordCount.class, Input.file(write("a\n" + longest + "\nc")))
                .withSplitBytes(1 << 20);
        assertThat(TestTexts.counts(master.run(spec))).containsOnlyKeys("a", "b", "c");
        write("a\n" + longest);
        assertThat(TestTexts.counts(master.run(spec))).containsOnlyKeys("a", "b");
        write("a\n" + longest + "b\nc");
        fails(spec, "the record at byte 2 has more than 16777216 bytes");
    }

    @Test
    void aMatrixOfAnotherSizeThanTheParameterSays() throws IOException {
        Path left = Files.write(directory.resolve("left"), new byte[3 * 3 * Integer.BYTES]);
        Path right = directory.resolve("right");
        JobSpec spec = JobSpec.of(MatrixMultiply.class, Input.file(left))
                .withFormat(RecordFormat.fixed(0, 3 * Integer.BYTES))
                .withParameter("right", right.toString());
        Files.write(right, new byte[2 * 3 * Integer.BYTES]);
        fails(spec.withParameter("size", "3"), "the right matrix has 2 rows of 3 numbers; it must be square");
        Files.write(right, new byte[3 * 3 * Integer.BYTES + 1]);
        fails(spec.withParameter("size", "3"), "has 37 bytes; these are not rows of 3 numbers");
        fails(spec.withParameter("size", "0"), "has 37 bytes; these are not rows of 0 numbers");
        Files.write(right, new byte[3 * 3 * Integer.BYTES]);
        assertThat(master.run(spec.withParameter("size", "3")).pairs()).hasSize(3);
    }

    @Test
    void timeoutsThatCannotBeKept() throws IOException {
        JobSpec spec = JobSpec.of(WordCount.class, Input.file(write("x")));
        assertThatThrownBy(() -> spec.withWorkerWait(Duration.ofMillis(-1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the wait for a worker is PT-0.001S; it must not be negative");
        assertThatThrownBy(() -> MapReduce.open(cluster.embedded(0), "hasty", Duration.ZERO))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the timeout of workers is PT0S; it must be positive");
        assertThatThrownBy(() ->
                        new JobRunner(cluster.embedded(0), "hasty", Duration.ofSeconds(-1), Duration.ofSeconds(1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the timeout of workers is PT-1S; it must be positive");
    }

    @Test
    void aGroupWithoutWorkers() throws IOException {
        Path file = write("x");
        try (MapReduce lonely = MapReduce.open(cluster.embedded(0), "lonely")) {
            before = cluster.lmrBytes(); // The word of a lock stays for a minute.
            JobSpec spec = JobSpec.of(WordCount.class, Input.file(file)).withWorkerWait(Duration.ofMillis(300));
            assertThatThrownBy(() -> lonely.run(spec))
                    .isInstanceOf(MrException.class)
                    .hasMessageContaining("has no worker: none registered within PT0.3S");
        }
    }

    @Test
    void aSecondMaster() {
        assertThatThrownBy(() -> MapReduce.open(cluster.embedded(1), TestCluster.GROUP))
                .isInstanceOf(MrException.class)
                .hasMessage("the group \"test\" has a master already");
    }
}

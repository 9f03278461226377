package dev.lite.mr;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtMemory;
import dev.lite.api.SessionLostException;
import dev.lite.mr.jobs.WordCount;
import dev.lite.testing.Waits;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A worker that cannot write its results: its tasks run again, and the job does not fail. */
class LostResultsTest {
    @TempDir
    Path directory;

    /** The first call of a method of a session's memory fails. */
    private static Lite failingOnce(Lite lite, String name, Supplier<LiteException> failure) {
        AtomicBoolean failed = new AtomicBoolean();
        LtMemory memory = (LtMemory) Proxy.newProxyInstance(
                LtMemory.class.getClassLoader(), new Class<?>[] {LtMemory.class}, (self, method, arguments) -> {
                    if (method.getName().equals(name) && !failed.getAndSet(true)) {
                        throw failure.get();
                    }
                    try {
                        return method.invoke(lite.memory(), arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        return (Lite) Proxy.newProxyInstance(
                Lite.class.getClassLoader(),
                new Class<?>[] {Lite.class},
                (self, method, arguments) ->
                        method.getName().equals("memory") ? memory : method.invoke(lite, arguments));
    }

    /** Runs a job on one worker, whose session fails once at this method, and checks that map tasks ran again. */
    private void runsAgain(String method, Supplier<LiteException> failure) {
        Path file = TestTexts.write(directory.resolve("text"), 12, 1_000);
        try (TestCluster cluster = TestCluster.start(1, 32 << 20)) {
            MapReduce master = cluster.master(cluster.embedded(0));
            Lite lite = failingOnce(cluster.embedded(0), method, failure);
            cluster.keep(MrWorker.start(
                    lite, WorkerOptions.of(TestCluster.GROUP).withName("only").withThreads(1)));
            TestCluster.awaitWorkers(master, 1);
            CompletableFuture<JobResult> running = CompletableFuture.supplyAsync(
                    () -> master.run(JobSpec.of(WordCount.class, Input.file(file))), Thread::startVirtualThread);
            assertThat(running).succeedsWithin(Waits.seconds(60)).satisfies(result -> {
                assertThat(TestTexts.counts(result)).isEqualTo(TestTexts.countWords(file));
                assertThat(result.again()).anyMatch(again -> again.startsWith("map task 0 again on only"));
            });
        }
    }

    @Test
    void aWorkerWithoutAnAnswerWhileItWritesItsResultsRunsItsTasksAgain() {
        runsAgain("register", () -> new LiteTimeoutException("no answer"));
    }

    @Test
    void aWorkerWhoseNodeIsAwayWhileItWritesItsResultsRunsItsTasksAgain() {
        runsAgain("register", () -> new LmrUnavailableException("the node is away"));
    }

    @Test
    void aWorkerThatLosesItsSessionRunsItsTasksAgain() {
        runsAgain("register", () -> new SessionLostException("the session was lost"));
    }
}

package dev.lite.mr.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.mr.Input;
import dev.lite.mr.JobResult;
import dev.lite.mr.JobRunner;
import dev.lite.mr.JobSpec;
import dev.lite.mr.MrException;
import dev.lite.mr.MrWorker;
import dev.lite.mr.TestCluster;
import dev.lite.mr.TestTexts;
import dev.lite.mr.WorkerOptions;
import dev.lite.mr.jobs.WordCount;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ConfigurableApplicationContext;

@Isolated("starts application contexts")
class LiteMrAutoConfigurationTests {
    private static final long ARENA = 32 << 20;

    @TempDir
    Path directory;

    private final ApplicationContextRunner runner =
            new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(LiteMrAutoConfiguration.class));

    @Test
    void anApplicationRunsJobsOnWorkersThatAreApplications() {
        Path file = TestTexts.write(directory.resolve("text"), 21, 1_000);
        try (TestCluster cluster = TestCluster.start(2, ARENA);
                ConfigurableApplicationContext worker = MrWorkerApplication.application()
                        .run(
                                "--lite.client.socket=" + cluster.socket(1),
                                "--lite.mr.group=reports",
                                "--lite.mr.worker.threads=1",
                                "--spring.main.banner-mode=off")) {
            Lite lite = cluster.attached(0);
            runner.withBean(Lite.class, () -> lite)
                    .withPropertyValues("lite.mr.group=reports")
                    .run(context -> {
                        JobRunner jobs = context.getBean(JobRunner.class);
                        JobSpec spec =
                                JobSpec.of(WordCount.class, Input.file(file)).withWorkerWait(Waits.seconds(30));
                        JobResult result = jobs.run(spec);
                        assertThat(TestTexts.counts(result)).isEqualTo(TestTexts.countWords(file));
                        assertThat(jobs.status().workers())
                                .singleElement()
                                .asString()
                                .endsWith("at node-1, 1 thread");
                        assertThat(context).doesNotHaveBean(MrWorker.class);
                        context.close();
                        assertThatThrownBy(() -> jobs.run(spec))
                                .isInstanceOf(IllegalStateException.class)
                                .hasMessage("the runner of the group \"reports\" is closed");
                    });
            assertThat(worker.getBean(MrWorker.class)).isNotNull();
        }
    }

    @Test
    void aRunnerThatIsClosedFailsItsJobAndGivesTheGroupBack() {
        Path file = TestTexts.write(directory.resolve("text"), 22, 100);
        try (TestCluster cluster = TestCluster.start(1, ARENA)) {
            JobRunner jobs = runner(cluster, Waits.seconds(30));
            JobRunner impatient = runner(cluster, Duration.ofMillis(100));
            JobSpec spec = JobSpec.of(WordCount.class, Input.file(file)).withWorkerWait(Waits.seconds(60));
            // There is no worker, so the job waits; progress comes while it does.
            assertThatThrownBy(() -> jobs.run(spec, status -> {
                        assertThatThrownBy(() -> impatient.run(spec))
                                .isInstanceOf(MrException.class)
                                .hasMessage("the group \"reports\" has a master already");
                        jobs.close();
                    }))
                    .isInstanceOf(MrException.class)
                    .hasMessageContaining("its master was closed");
            cluster.keep(MrWorker.start(
                    cluster.embedded(0), WorkerOptions.of("reports").withThreads(1)));
            JobRunner other = runner(cluster, Waits.seconds(30));
            for (int i = 0; i < 2; i++) { // a master for each job
                assertThat(TestTexts.counts(other.run(spec))).isEqualTo(TestTexts.countWords(file));
            }
        }
    }

    private static JobRunner runner(TestCluster cluster, Duration groupTimeout) {
        return cluster.keep(new JobRunner(cluster.embedded(0), "reports", Waits.seconds(10), groupTimeout));
    }

    @Test
    void aRunnerAndAWorkerContinueAfterTheirNodeWasAway() {
        Path file = TestTexts.write(directory.resolve("text"), 23, 100);
        try (TestCluster cluster = TestCluster.start(1, ARENA)) {
            Lite lite = cluster.reattaching(0);
            JobRunner jobs = cluster.keep(new JobRunner(lite, "reports", Waits.seconds(10), Waits.seconds(30)));
            // In one session: a lost lock of the runner would stop the worker.
            cluster.keep(MrWorker.start(lite, WorkerOptions.of("reports").withThreads(1)));
            JobSpec spec = JobSpec.of(WordCount.class, Input.file(file)).withWorkerWait(Waits.seconds(60));
            for (int i = 0; i < 2; i++) {
                assertThat(TestTexts.counts(jobs.run(spec))).isEqualTo(TestTexts.countWords(file));
                cluster.restartSessions(0);
            }
        }
    }

    @Test
    void aWrongPropertyFailsTheStartWithItsNameAndItsLimit() {
        try (TestCluster cluster = TestCluster.start(1, ARENA)) {
            ApplicationContextRunner attached = runner.withBean(Lite.class, () -> cluster.embedded(0));
            wrong(attached, "lite.mr.worker.threads=0", "lite.mr.worker.threads is 0; it must be 1 to 256");
            wrong(attached, "lite.mr.worker.threads=257", "lite.mr.worker.threads is 257; it must be 1 to 256");
            wrong(attached, "lite.mr.group= ", "lite.mr.group is \"\"; it must have 1 to 64 characters");
            wrong(attached, "lite.mr.worker-timeout=0s", "lite.mr.worker-timeout is PT0S; it must be positive");
        }
    }

    private static void wrong(ApplicationContextRunner attached, String property, String message) {
        attached.withPropertyValues(property)
                .run(context -> assertThat(context.getStartupFailure())
                        .as(property)
                        .rootCause()
                        .hasMessageContaining(message));
    }

    @Test
    void anApplicationWithoutASessionHasNoRunner() {
        runner.run(context -> assertThat(context).doesNotHaveBean(Lite.class).doesNotHaveBean(JobRunner.class));
    }
}

package dev.lite.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.client.fake.FakeLite;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.CompositeHealthContributor;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthContributors;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

@Isolated("it captures the output of its process")
@ExtendWith(OutputCaptureExtension.class)
class LiteHealthContributorAutoConfigurationTests {

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    LiteClientAutoConfiguration.class, LiteHealthContributorAutoConfiguration.class));

    @Test
    void healthShowsTheNodeAndTheFabrics() {
        runner.run(context -> {
            Health health = context.getBean(LiteHealthIndicator.class).health();
            assertThat(health.getStatus()).isEqualTo(Status.UP);
            assertThat(health.getDetails())
                    .containsEntry("node", "fake-1")
                    .containsEntry("fabric", Map.of("fake-1", "local", "fake-2", "shm"));
        });
    }

    @Test
    void healthIsDownWithTheReasonWhileTheSessionIsLost() {
        FakeLite lost = new FakeLite(AttachOptions.to(Path.of("/tmp/x.sock"), "x"));
        lost.lose();
        runner.withBean(Lite.class, () -> lost).run(context -> {
            Health health = context.getBean(LiteHealthIndicator.class).health();
            assertThat(health.getStatus()).isEqualTo(Status.DOWN);
            assertThat(health.getDetails().get("error")).asString().contains("the session was lost");
        });
    }

    @Test
    void healthShowsEachOfSeveralSessionsByTheNameOfItsBean() {
        FakeLite lost = new FakeLite(AttachOptions.to(Path.of("/tmp/x.sock"), "x"));
        lost.lose();
        runner.withBean("orders", Lite.class, () -> new FakeLite(AttachOptions.to(Path.of("/tmp/x.sock"), "x")))
                .withBean("stock", Lite.class, () -> lost)
                .run(context -> assertThat(context.getBean(CompositeHealthContributor.class).stream()
                                .collect(Collectors.toMap(
                                        HealthContributors.Entry::name,
                                        LiteHealthContributorAutoConfigurationTests::status)))
                        .isEqualTo(Map.of("orders", Status.UP, "stock", Status.DOWN)));
    }

    private static Status status(HealthContributors.Entry entry) {
        return Objects.requireNonNull(((HealthIndicator) entry.contributor()).health())
                .getStatus();
    }

    /** The node's process is paused, for example: it accepts the question, and does not answer it. */
    @Test
    void healthIsDownWhileTheNodeHangsAndAsksItOnlyOnce() {
        CountDownLatch answers = new CountDownLatch(1);
        AtomicInteger questions = new AtomicInteger();
        FakeLite hung = new FakeLite(AttachOptions.to(Path.of("/tmp/x.sock"), "x"));
        hung.whenListing = () -> {
            questions.incrementAndGet();
            Waits.await(answers);
        };
        LiteHealthIndicator indicator = new LiteHealthIndicator(hung);
        for (int check = 0; check < 3; check++) {
            Health health = indicator.health();
            assertThat(health.getStatus()).isEqualTo(Status.DOWN);
            assertThat(health.getDetails().get("error")).asString().contains("did not answer within 1000 ms");
        }
        assertThat(questions).hasValue(1);
        answers.countDown();
        Waits.until("the node is up again", () -> indicator.health().getStatus().equals(Status.UP));
    }

    @Test
    void aShortDeadlineOfTheSessionIsAlsoThatOfItsHealth() {
        CountDownLatch answers = new CountDownLatch(1);
        FakeLite hung =
                new FakeLite(AttachOptions.to(Path.of("/tmp/x.sock"), "x").withDeadline(Duration.ofMillis(30)));
        hung.whenListing = () -> Waits.await(answers);
        assertThat(new LiteHealthIndicator(hung).health().getDetails().get("error"))
                .asString()
                .contains("did not answer within 30 ms");
        answers.countDown();
    }

    @Test
    void aNodeThatIsAwayIsLoggedOnceInOneLine(CapturedOutput output) {
        FakeLite lost = new FakeLite(AttachOptions.to(Path.of("/tmp/x.sock"), "x"));
        lost.lose();
        LiteHealthIndicator health = new LiteHealthIndicator(lost);
        for (int check = 0; check < 5; check++) {
            assertThat(health.health().getStatus()).isEqualTo(Status.DOWN);
        }
        assertThat(output)
                .containsOnlyOnce("This host's LITE node is away: the session was lost")
                .doesNotContain("\tat ");
    }

    @Test
    void thereIsNoContributorWithoutTheHealthModule() {
        runner.withClassLoader(new FilteredClassLoader("org.springframework.boot.health"))
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .hasSingleBean(Lite.class)
                        .doesNotHaveBean("liteHealthContributor"));
        runner.withClassLoader(new FilteredClassLoader(HealthIndicator.class))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean("liteHealthContributor"));
    }

    @Test
    void thereIsNoContributorWhenItIsDisabled() {
        runner.withPropertyValues("management.health.lite.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean(LiteHealthIndicator.class));
    }

    @Test
    void anApplicationsOwnContributorReplacesTheAutoConfiguredOne() {
        runner.withBean(
                        "liteHealthIndicator",
                        HealthIndicator.class,
                        () -> () -> Health.unknown().build())
                .run(context -> assertThat(context).hasSingleBean(HealthIndicator.class));
    }
}

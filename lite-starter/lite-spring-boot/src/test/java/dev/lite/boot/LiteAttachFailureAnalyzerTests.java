package dev.lite.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeUnreachableException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Configuration;

@Isolated("it captures the output of its process")
@ExtendWith(OutputCaptureExtension.class)
class LiteAttachFailureAnalyzerTests {

    @Test
    void anApplicationWithoutItsNodeEndsWithOneMessage(CapturedOutput output) {
        SpringApplication application = new SpringApplication(Application.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        try {
            application.run("--lite.client.socket=/tmp/missing.sock").close();
        } catch (RuntimeException expected) {
            assertThat(expected).rootCause().isInstanceOf(NodeUnreachableException.class);
        }
        assertThat(output)
                .contains("APPLICATION FAILED TO START")
                .contains("/tmp/missing.sock")
                .contains("lite.client.socket")
                .contains("nobody listens")
                .contains("Start a lite-node")
                .doesNotContain("\tat ");
    }

    @Test
    void anApplicationThatWaitsForItsNodeSaysWhyItCannotAttachYet(CapturedOutput output) {
        SpringApplication application = new SpringApplication(Application.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        try {
            application
                    .run("--lite.client.socket=/tmp/missing.sock", "--lite.client.start-deadline=100ms")
                    .close();
        } catch (RuntimeException expected) {
            assertThat(expected).rootCause().isInstanceOf(NodeUnreachableException.class);
        }
        // Such as a node that runs as a user whom this application does not trust.
        assertThat(output).containsPattern("waiting up to .*: .*nobody listens");
    }

    @Test
    void advisesWhenTheNodeRefuses(CapturedOutput output) {
        SpringApplication application = new SpringApplication(Application.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        try {
            application.run("--lite.client.socket=/tmp/refusing.sock").close();
        } catch (RuntimeException expected) {
            assertThat(output).contains("unknown token").contains("lite.client.token");
        }
        assertThat(output).contains("APPLICATION FAILED TO START");
    }

    @Test
    void distinguishesAMissingSocketFromAnUnusedOne(@TempDir Path directory) throws IOException {
        Path socket = directory.resolve("node.sock");
        assertThat(analyze(socket, new NodeUnreachableException("x")).getAction())
                .contains("There is no such file");
        Files.createFile(socket);
        assertThat(analyze(socket, new NodeUnreachableException("x")).getAction())
                .contains("leaves its socket file behind");
        assertThat(analyze(socket, new LiteTimeoutException("x")).getAction()).contains("lite.client.deadline");
    }

    @Test
    void advisesWhenTheNodeHasNoPlaceForAnotherApplication(@TempDir Path directory) throws IOException {
        Path socket = Files.createFile(directory.resolve("node.sock"));
        assertThat(analyze(socket, new LimitExceededException("x")).getAction())
                .contains("lite.node.limits.sessions")
                .doesNotContain("leaves its socket file behind");
    }

    @Test
    void theDescriptionHasTheSocketOnceAndLeavesTheAdviceToTheAction(@TempDir Path directory) {
        Path socket = directory.resolve("node.sock");
        String why = "no LITE node at %s: there is no such socket".formatted(socket);
        FailureAnalysis analysis = analyze(socket, new NodeUnreachableException(why + "; check that lite-node runs"));
        assertThat(analysis.getDescription())
                .containsOnlyOnce(socket.toString())
                .endsWith(why);
        assertThat(analyze(socket, new NodeUnreachableException("x")).getDescription())
                .containsOnlyOnce(socket.toString());
    }

    @Test
    void theDescriptionHasTheReasonsOfAlternativeSocketsToo(@TempDir Path directory) {
        String why = "no LITE node at /run/a.sock: there is no such socket; check that lite-node runs, and its mode; "
                + "no LITE node at /run/b.sock: no process listens there any more; check that lite-node runs";
        assertThat(analyze(directory.resolve("a.sock"), new NodeUnreachableException(why))
                        .getDescription())
                .endsWith(
                        ": no LITE node at /run/a.sock: there is no such socket; no LITE node at /run/b.sock: no process listens there any more");
    }

    private static FailureAnalysis analyze(Path socket, RuntimeException reason) {
        LiteAttachFailedException failure = new LiteAttachFailedException(socket, reason);
        return new LiteAttachFailureAnalyzer().analyze(failure, failure);
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {}
}

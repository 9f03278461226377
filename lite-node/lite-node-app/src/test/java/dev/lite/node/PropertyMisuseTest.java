package dev.lite.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.cluster.process.StartException;
import dev.lite.process.ClusterProperties;
import dev.lite.process.NameCheck;
import dev.lite.process.ProcessProperties;
import dev.lite.testing.boot.AnalysisRecorder;
import dev.lite.testing.boot.PropertyMisuses;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** Bad values of the properties of the node. */
@Isolated("its starts set up the logging of its process")
class PropertyMisuseTest {
    private static final Set<String> MAY_BE_ZERO =
            Set.of("port", "extents", "handles", "channels-max", "poll", "session", "drain-timeout", "return-grace");

    @Configuration(proxyBeanMethods = false)
    @EnableConfigurationProperties({ClusterProperties.class, NodeProperties.class, ProcessProperties.class})
    @Import({NameCheck.class, NodeConfiguration.class, ProcessLifecycle.class})
    static class Application {}

    @Test
    void everyBadValueFailsTheStartWithTheNameOfItsProperty() throws IOException {
        // The manager is on the class path of the tests, too.
        new PropertyMisuses("the properties of the node", Application.class)
                .check(
                        name -> name.startsWith("lite.") && !name.startsWith("lite.manager."),
                        MAY_BE_ZERO,
                        PropertyMisuseTest::bad,
                        120);
    }

    @Test
    void aMisspeltNameFailsTheStartWithTheNearestKnownOne() {
        assertThat(refusal("--lite.node.arena.sice=1"))
                .isEqualTo("there is no property lite.node.arena.sice; the nearest known one is lite.node.arena.size");
        assertThat(refusal("--lite.nod.name=1"))
                .isEqualTo("there is no property lite.nod.name; the nearest known one is lite.node.name");
    }

    private static @Nullable String refusal(String argument) {
        FailureAnalysis unused = AnalysisRecorder.take();
        assertThatThrownBy(() -> LiteNodeApplication.main(new String[] {"--server.port=0", argument}))
                .isInstanceOf(StartException.class);
        FailureAnalysis analysis = AnalysisRecorder.take();
        return analysis == null ? null : analysis.getDescription();
    }

    /** Other texts are free, or need the host to check them. */
    private static List<String> bad(String name, String type) {
        if (type.equals(Duration.class.getName())) {
            return List.of(PropertyMisuses.LONG_DURATION);
        }
        return switch (name) {
            case "lite.cluster.name" -> List.of("a b", "a/b", "..", "x".repeat(64));
            case "lite.cluster.zookeeper" -> List.of(" ", "localhost:abc", "localhost:2181/a//b");
            case "lite.cluster.auth.user" -> List.of("a:b");
            case "lite.node.name" -> List.of("a b", "a/b", ".", "x".repeat(64));
            case "lite.node.socket-mode" -> List.of("rw", "888", "7777", "-1");
            case "lite.node.management-url" -> List.of("x", "ftp://a/b", "http:");
            case "lite.node.fabrics" -> List.of("pigeon", "shm,pigeon");
            case "lite.fabric", "lite.fabric.require" -> List.of("pigeon", "SHM");
            case "lite.node.run-directory", "lite.node.socket" -> List.of(PropertyMisuses.LONG_PATH);
            case "lite.node.tcp.bind" -> List.of(" ");
            case "lite.node.tcp.protection" -> List.of("strong", "NONE");
            case "lite.cluster.secret", "lite.node.tcp.secret", "lite.node.rdma.secret", "lite.node.management.token" ->
                List.of("short");
            default -> List.of();
        };
    }
}

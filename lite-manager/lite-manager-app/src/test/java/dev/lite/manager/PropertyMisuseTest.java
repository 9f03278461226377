package dev.lite.manager;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.cluster.process.StartException;
import dev.lite.manager.data.ManagerSession;
import dev.lite.manager.nodes.NodeStates;
import dev.lite.manager.web.WebProperties;
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

/** Bad values of the properties of the manager. */
@Isolated("its starts set up the logging of its process")
class PropertyMisuseTest {
    @Configuration(proxyBeanMethods = false)
    @EnableConfigurationProperties({
        ClusterProperties.class,
        ManagerProperties.class,
        WebProperties.class,
        ProcessProperties.class
    })
    @Import({NameCheck.class, ManagerConfiguration.class, ProcessLifecycle.class, ManagerSession.class, NodeStates.class
    })
    static class Application {}

    @Test
    void everyBadValueFailsTheStartWithTheNameOfItsProperty() throws IOException {
        new PropertyMisuses("the properties of the manager", Application.class)
                .check(name -> name.startsWith("lite."), Set.of("port"), PropertyMisuseTest::bad, 50);
    }

    @Test
    void aMisspeltNameFailsTheStartWithTheNearestKnownOne() {
        assertThat(refusal("--lite.manager.zookeeper.embeded=1"))
                .isEqualTo(
                        "there is no property lite.manager.zookeeper.embeded; the nearest known one is lite.manager.zookeeper.embedded");
        assertThat(refusal("--lite.manger.name=1"))
                .isEqualTo("there is no property lite.manger.name; the nearest known one is lite.manager.name");
    }

    private static @Nullable String refusal(String argument) {
        FailureAnalysis unused = AnalysisRecorder.take();
        assertThatThrownBy(() -> LiteManagerApplication.main(new String[] {"--server.port=0", argument}))
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
            case "lite.cluster.zookeeper" ->
                List.of(" ", "localhost:abc", "localhost:70000", "localhost:2181/a//b", "localhost:2181,,:2181");
            case "lite.cluster.auth.user" -> List.of("a:b");
            case "lite.cluster.secret" -> List.of("short");
            case "lite.manager.zookeeper.address" -> List.of(" ");
            case "lite.manager.client-socket" -> List.of(PropertyMisuses.LONG_PATH);
            case "lite.manager.node-token" -> List.of("a b");
            default -> List.of();
        };
    }
}

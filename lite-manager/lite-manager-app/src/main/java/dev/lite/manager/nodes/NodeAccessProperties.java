package dev.lite.manager.nodes;

import dev.lite.cluster.process.PropertyChecks;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How the manager asks nodes for their state.
 *
 * @param nodeDeadline How long to wait for the nodes' answers; all nodes are asked at once.
 * @param nodeToken Token that the nodes require from other hosts (their lite.node.management.token). Not sent to loopback
 *     addresses.
 */
@ConfigurationProperties("lite.manager")
record NodeAccessProperties(
        @DefaultValue("2s") Duration nodeDeadline, @Nullable String nodeToken) {
    private static final Duration DEADLINE_MIN = Duration.ofMillis(50);
    private static final Duration DEADLINE_MAX = Duration.ofMinutes(1);

    NodeAccessProperties {
        PropertyChecks.range("lite.manager.node-deadline", nodeDeadline, DEADLINE_MIN, DEADLINE_MAX);
        if (nodeToken != null && !PropertyChecks.isHeaderToken(nodeToken)) {
            throw new IllegalArgumentException("lite.manager.node-token must consist of visible ASCII characters");
        }
    }

    @Override
    public String toString() {
        return "NodeAccessProperties[nodeDeadline=%s, nodeToken=%s]"
                .formatted(nodeDeadline, nodeToken == null ? "none" : "given");
    }
}

package dev.lite.boot;

import dev.lite.api.Lite;
import dev.lite.api.NodeInfo;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;

/**
 * Whether the session with this host's node is up, and which fabric carries data to each node of the cluster. Asking
 * attaches again when the session was lost. It belongs to readiness; liveness must not depend on a node.
 */
public final class LiteHealthIndicator extends AbstractHealthIndicator {

    private final Lite lite;

    /** For this session, which stays its owner's. */
    public LiteHealthIndicator(Lite lite) {
        super("LITE health check failed");
        this.lite = lite;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) {
        Map<String, String> fabricByNode = new TreeMap<>();
        for (NodeInfo node : lite.nodes()) {
            fabricByNode.put(node.name(), node.fabric());
        }
        builder.status(lite.isOpen() ? Status.UP : Status.DOWN)
                .withDetail("node", lite.nodeName())
                .withDetail("fabric", fabricByNode);
    }
}

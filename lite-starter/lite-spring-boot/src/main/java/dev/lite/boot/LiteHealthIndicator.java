package dev.lite.boot;

import dev.lite.api.Lite;
import dev.lite.api.NodeInfo;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;

/**
 * Reports whether the session with this host's node is open, and which fabric carries data to each node of the cluster. A check makes
 * one attempt to attach again if the session was lost. Add it to readiness, not to liveness, which must not depend on a node.
 */
public final class LiteHealthIndicator extends AbstractHealthIndicator {

    private final Lite lite;

    /** Checks this session, which the caller still owns and closes. */
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

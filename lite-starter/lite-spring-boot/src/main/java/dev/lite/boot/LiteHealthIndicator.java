package dev.lite.boot;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.NodeInfo;
import dev.lite.boot.observe.NodesProbe;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;

/**
 * Reports whether the session with this host's node is open, and which fabric carries data to each node of the
 * cluster. If the session was lost, a check makes one attempt to attach again. It waits at most a second for a node
 * that does not answer. Add this indicator to readiness, not to liveness, which must not depend on a node. It logs when
 * the node becomes unavailable and when it is available again, not at each check. Any thread.
 */
public final class LiteHealthIndicator extends AbstractHealthIndicator {

    private static final Log log = LogFactory.getLog(LiteHealthIndicator.class);

    private final Lite lite;
    private final NodesProbe probe;
    private final AtomicBoolean away = new AtomicBoolean();

    /** Checks this session, which the caller still owns and closes. */
    public LiteHealthIndicator(Lite lite) {
        super("LITE health check failed");
        this.lite = lite;
        probe = new NodesProbe(lite);
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) {
        List<NodeInfo> nodes;
        try {
            nodes = probe.nodes();
        } catch (LiteException e) {
            if (!away.getAndSet(true)) {
                log.warn("This host's LITE node is away: %s".formatted(e.getMessage()));
            }
            builder.down().withDetail("error", String.valueOf(e.getMessage()));
            return;
        }
        if (away.getAndSet(false)) {
            log.info("This host's LITE node %s is back".formatted(lite.nodeName()));
        }
        Map<String, String> fabricByNode = new TreeMap<>();
        for (NodeInfo node : nodes) {
            fabricByNode.put(node.name(), node.fabric());
        }
        builder.status(lite.isOpen() ? Status.UP : Status.DOWN)
                .withDetail("node", lite.nodeName())
                .withDetail("fabric", fabricByNode);
    }
}

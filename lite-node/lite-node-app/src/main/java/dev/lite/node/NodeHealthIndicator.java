package dev.lite.node;

import dev.lite.api.NodeInfo;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.process.ClusterProperties;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.peer.FabricSelection;
import dev.lite.tier.session.SessionServer;
import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.stereotype.Component;

/**
 * Reports the fabric to each node, or why there is none, and the use of the memory. Out of service while the cluster's
 * directory is unreachable (mapped LMRs still work, but nothing new can be mapped), or the node's registration is lost.
 */
@Component("nodeHealthIndicator")
class NodeHealthIndicator extends AbstractHealthIndicator {
    private final LiteNode node;
    private final SessionServer sessions;
    private final ClusterDirectory directory;
    private final ClusterProperties cluster;
    private final FabricSelection selection;

    NodeHealthIndicator(
            LiteNode node,
            SessionServer sessions,
            ClusterDirectory directory,
            ClusterProperties cluster,
            FabricSelection selection) {
        super("cannot read the node's health");
        this.node = node;
        this.sessions = sessions;
        this.directory = directory;
        this.cluster = cluster;
        this.selection = selection;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) {
        boolean available = directory.isAvailable();
        boolean member = node.isMember();
        (available && member ? builder.up() : builder.outOfService())
                .withDetail("cluster", cluster.name())
                .withDetail("directory", available ? "available" : "unreachable")
                .withDetail("registration", member ? "current" : "lost")
                .withDetail("name", node.nodeName())
                .withDetail("id", node.self().id())
                .withDetail("socket", sessions.socket().toString())
                .withDetail("sessions", sessions.sessions().size())
                .withDetail("offered", selection.describe())
                .withDetail("fabrics", fabrics())
                .withDetail("draining", node.isDraining())
                .withDetail("refusedRecords", directory.refusedRecords())
                .withDetail("memory", node.figures().usage());
    }

    /** Maps each peer to the fabric to it, or to the reason why there is none. */
    private Map<String, String> fabrics() {
        Map<String, String> fabrics = new LinkedHashMap<>();
        for (NodeInfo peer : node.nodes()) {
            String trouble = peer.fabric().equals("none") ? node.trouble(peer.id()) : "";
            fabrics.put(peer.name(), trouble.isEmpty() ? peer.fabric() : peer.fabric() + ": " + trouble);
        }
        return fabrics;
    }
}

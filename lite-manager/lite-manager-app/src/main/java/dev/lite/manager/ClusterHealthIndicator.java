package dev.lite.manager;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.Leadership;
import dev.lite.cluster.NodeRecord;
import dev.lite.manager.web.OrderWatch;
import dev.lite.process.ClusterProperties;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.stereotype.Component;

/** Reports whether this manager leads, and its view of the cluster. Out of service while ZooKeeper is unreachable. */
@Component
class ClusterHealthIndicator extends AbstractHealthIndicator {
    private final ClusterDirectory directory;
    private final Leadership leadership;
    private final OrderWatch orders;
    private final ClusterProperties cluster;

    ClusterHealthIndicator(
            ClusterDirectory directory, Leadership leadership, OrderWatch orders, ClusterProperties cluster) {
        super("cannot read the cluster's health");
        this.directory = directory;
        this.leadership = leadership;
        this.orders = orders;
        this.cluster = cluster;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) {
        boolean available = directory.isAvailable();
        (available ? builder.up() : builder.outOfService())
                .withDetail("cluster", cluster.name())
                .withDetail("directory", available ? "available" : "unreachable")
                .withDetail("leader", leadership.isLeader())
                .withDetail("epoch", directory.epoch().number())
                .withDetail("removalsPending", directory.epoch().pending().size())
                .withDetail("ordersOpen", orders.open())
                .withDetail("refusedRecords", directory.refusedRecords())
                .withDetail(
                        "nodes",
                        directory.nodes().stream().map(NodeRecord::name).toList());
    }
}

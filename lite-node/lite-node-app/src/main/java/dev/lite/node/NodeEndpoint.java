package dev.lite.node;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.session.SessionServer;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.stereotype.Component;

/** {@code /actuator/lite}: the node's memory, sessions, links and counts. Asks no other node. */
@Component
@Endpoint(id = "lite")
class NodeEndpoint {
    private final LiteNode node;
    private final SessionServer sessions;
    private final ClusterDirectory directory;

    NodeEndpoint(LiteNode node, SessionServer sessions, ClusterDirectory directory) {
        this.node = node;
        this.sessions = sessions;
        this.directory = directory;
    }

    @ReadOperation
    NodeStatus status() {
        return NodeStatus.of(node, directory.epoch().number(), sessions.sessions(), sessions.operations());
    }
}

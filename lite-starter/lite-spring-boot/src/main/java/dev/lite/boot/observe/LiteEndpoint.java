package dev.lite.boot.observe;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LiteStatistics;
import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.NodeInfo;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;

/**
 * {@code /actuator/lite}: the session with this host's node. Waits at most a second for a node that does not answer,
 * and not for one that is away. Any thread.
 */
@Endpoint(id = "lite")
public final class LiteEndpoint {

    private final Lite lite;
    private final NodesProbe probe;

    /** Shows this session, which the caller still owns and closes. */
    public LiteEndpoint(Lite lite) {
        this.lite = lite;
        probe = new NodesProbe(lite);
    }

    /** The session now. */
    @ReadOperation
    public Session session() {
        LiteStatistics statistics = lite.statistics();
        Map<String, Count> operations = new TreeMap<>();
        statistics.operations().forEach((kind, count) -> operations.put(kind.tag(), count));
        boolean open = lite.isOpen();
        return new Session(
                open,
                open ? lite.nodeName() : null,
                statistics.handles(),
                statistics.functions(),
                statistics.ports(),
                statistics.locks(),
                operations,
                open ? fabrics() : Map.of());
    }

    private Map<String, String> fabrics() {
        Map<String, String> fabrics = new TreeMap<>();
        try {
            List<NodeInfo> nodes = probe.nodes();
            nodes.forEach(node -> fabrics.put(node.name(), node.fabric()));
        } catch (LiteException e) {
            // The session was lost meanwhile, or the node does not answer: the other fields are still worth showing.
        }
        return fabrics;
    }

    /**
     * A session.
     *
     * @param open whether it is connected to its node
     * @param node the name of that node; null while it is not connected
     * @param handles mapped handles
     * @param functions served functions
     * @param ports open ports
     * @param locks held locks
     * @param operations operations by kind, as {@link LiteStatistics#operations} counts them
     * @param fabrics the nodes of the cluster, each with the fabric that carries data to it; empty while the node does not answer
     */
    public record Session(
            boolean open,
            @Nullable String node,
            int handles,
            List<String> functions,
            List<String> ports,
            List<String> locks,
            Map<String, Count> operations,
            Map<String, String> fabrics) {}
}

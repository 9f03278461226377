package dev.lite.embedded;

import dev.lite.api.Lite;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.cluster.qos.QosPolicy;
import java.util.ArrayList;
import java.util.List;

/**
 * A cluster of embedded nodes in this JVM, for tests and single-process tools. The nodes are called {@code node-1}, {@code node-2} and
 * so on. Their directory is in the process, so the cluster needs neither ZooKeeper nor a manager. The nodes reach each other like nodes
 * on one host. Any number of clusters run side by side. Any thread.
 */
public final class EmbeddedCluster implements AutoCloseable {
    /** The largest number of nodes. Each has its arena, its threads and a connection to every other one. */
    public static final int NODES_MAX = 16;

    private final List<EmbeddedNode> nodes;

    private EmbeddedCluster(List<EmbeddedNode> nodes) {
        this.nodes = List.copyOf(nodes);
    }

    /**
     * Starts the nodes. Operations on a node that is not connected yet wait for its connection, up to their deadlines; calls wait a few
     * seconds at most.
     *
     * @param count the number of nodes, 1 to {@value #NODES_MAX}
     * @param arenaBytes the memory that each node contributes, in bytes
     * @throws IllegalArgumentException if the number is out of range
     * @throws dev.lite.tier.memory.ArenaException if an arena cannot be created
     */
    public static EmbeddedCluster start(int count, long arenaBytes) {
        if (count < 1 || count > NODES_MAX) {
            throw new IllegalArgumentException(
                    "a cluster of %d embedded nodes; it can have 1 to %d".formatted(count, NODES_MAX));
        }
        EmbeddedNodeConfig.Builder config =
                EmbeddedNodeConfig.builder().arenaBytes(arenaBytes).secret(EmbeddedNode.newSecret());
        String cluster = config.build().cluster(); // the same for all
        InMemoryDirectory.Store store = new InMemoryDirectory.Store();
        List<EmbeddedNode> started = new ArrayList<>();
        boolean complete = false;
        try {
            for (int number = 1; number <= count; number++) {
                EmbeddedNodeConfig one =
                        config.cluster(cluster).name("node-" + number).build();
                started.add(EmbeddedNode.start(one, store::open));
            }
            complete = true;
            return new EmbeddedCluster(started);
        } finally {
            if (!complete) {
                closeAll(started);
            }
        }
    }

    /** Opens a session with the first node as this principal; the node trusts the caller to name it. The caller closes the session. */
    public Lite attach(String principal) {
        return nodes.getFirst().attach(principal);
    }

    /** Sets the policy for quality of service of every node; see {@link EmbeddedNode#setQos}. */
    public void setQos(QosPolicy policy) {
        nodes.forEach(node -> node.setQos(policy));
    }

    /** The nodes, in the order of their names. The cluster closes them. */
    public List<EmbeddedNode> nodes() {
        return nodes;
    }

    /** Ends all sessions and nodes; their memory is lost. A second call does nothing. */
    @Override
    public void close() {
        closeAll(nodes);
    }

    /** Without draining: there is no node that remains. */
    private static void closeAll(List<EmbeddedNode> nodes) {
        nodes.reversed().forEach(EmbeddedNode::closeAtOnce);
    }
}

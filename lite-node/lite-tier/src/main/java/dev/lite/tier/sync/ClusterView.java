package dev.lite.tier.sync;

import dev.lite.os.waiting.Deadline;
import java.util.Set;

/** The nodes that may still hold locks or wait. Any thread. */
public interface ClusterView {
    /** Whether this node is connected to the node now; always true for this node itself. */
    boolean isConnected(int node);

    /** The name of a node, also of one that left; its number if this node never learned the name. */
    String nameOf(int node);

    /**
     * Whether a node's answers hold for all of its processes: all processes before the current one are fenced. A
     * restarted process does not know what its predecessor held, and that one may only be paused and resume.
     */
    boolean isSettled(int node);

    /**
     * Every node that the directory lists now, that is connected, or that left and is not fenced yet, including this
     * node. All other nodes are gone: they can no longer act on this node.
     *
     * @throws dev.lite.api.ClusterUnavailableException if the directory does not answer
     */
    Set<Integer> nodes(Deadline deadline);
}

package dev.lite.tier.sync;

import dev.lite.tier.Deadline;
import java.util.Set;

/** Who may still hold or wait for something. Any thread. */
public interface ClusterView {
    /** Whether there is a connection to the node just now; true for the own one. */
    boolean isConnected(int node);

    /**
     * Every node that the directory lists now, or that is connected; the own one, too. Another node is gone: nobody there
     * can act on anything here.
     *
     * @throws dev.lite.api.ClusterUnavailableException when the directory does not answer
     */
    Set<Integer> nodes(Deadline deadline);
}

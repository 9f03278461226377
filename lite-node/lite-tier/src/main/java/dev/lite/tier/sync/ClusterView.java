package dev.lite.tier.sync;

import dev.lite.os.waiting.Deadline;
import java.util.Set;

/** The nodes that may still hold or wait for something. Any thread. */
public interface ClusterView {
    /** Whether there is a connection to the node just now; true for the own one. */
    boolean isConnected(int node);

    /**
     * Whether what a node says holds for all of its processes: those before its present one are fenced. A process that came
     * back knows nothing of what the one before it held, which may be paused and go on.
     */
    boolean isSettled(int node);

    /**
     * Every node that the directory lists now, that is connected, or that left and is not fenced yet; the own one, too.
     * Another node is gone: nobody there can act on anything here.
     *
     * @throws dev.lite.api.ClusterUnavailableException when the directory does not answer
     */
    Set<Integer> nodes(Deadline deadline);
}

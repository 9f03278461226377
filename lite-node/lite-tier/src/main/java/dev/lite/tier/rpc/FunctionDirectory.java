package dev.lite.tier.rpc;

import dev.lite.os.waiting.Deadline;
import java.util.List;

/** Which nodes serve a function. Any thread. */
public interface FunctionDirectory {
    /** The functions that this node serves have changed. Never blocks. */
    void changed();

    /**
     * The names of the nodes that serve a function, as far as this node knows. The first call may block.
     *
     * @throws dev.lite.api.ClusterUnavailableException if the first call cannot read the directory
     */
    List<String> nodesServing(String function, Deadline deadline);
}

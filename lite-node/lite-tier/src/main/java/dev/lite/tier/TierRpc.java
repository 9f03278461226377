package dev.lite.tier;

import dev.lite.api.LtRpc;
import java.util.List;

/** The calls and messages of one session at this node, with the rights of its principal. Any thread. */
public interface TierRpc extends LtRpc, AutoCloseable {

    /** The names of the functions, or of the ports, that the session serves. */
    List<String> served(boolean ports);

    /** Closes the session's servers and ports; calls in flight end by themselves. A second call does nothing. */
    @Override
    void close();
}

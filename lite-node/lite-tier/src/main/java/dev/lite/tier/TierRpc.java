package dev.lite.tier;

import dev.lite.api.LtRpc;

/** The calls and messages of one session at this node, with the rights of its principal. Any thread. */
public interface TierRpc extends LtRpc, AutoCloseable {

    /** Closes the session's servers and ports; calls in flight end by themselves. A second call does nothing. */
    @Override
    void close();
}

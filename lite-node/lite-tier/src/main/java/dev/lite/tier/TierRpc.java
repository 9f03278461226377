package dev.lite.tier;

import dev.lite.api.LtRpc;

/** The calls and messages of one session at this node, made as its principal. Any thread. */
public interface TierRpc extends LtRpc, AutoCloseable {

    /** Ends its servers and ports; calls under way end by themselves. A second call does nothing. */
    @Override
    void close();
}

package dev.lite.tier.rpc;

import dev.lite.api.Lite;
import dev.lite.api.RpcServer;
import dev.lite.tier.testing.TestCluster;

/** The environment of the cases; only {@link RpcContract} implements it. */
interface RpcCases {
    /** The nodes "n0" and "n1". */
    TestCluster cluster();

    /** A session at node "n0". */
    Lite caller();

    /** A session at node "n1". */
    Lite remote();

    /** Runs on a thread of its own, which must end when the nodes stop. */
    void run(Runnable body);

    /** Answers with the request until the server is closed. */
    void echo(RpcServer server);
}

package dev.lite.tier.node;

import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;

/** The environment of the cases; only {@link LiteNodeContract} implements it. */
interface NodeCases {
    /** A cluster of nodes "n0", "n1" and so on, connected; closed after the test. */
    TestCluster cluster(int nodes);

    /** A cluster without nodes, whose nodes have an operation deadline of one second; the caller closes it. */
    TestCluster shortDeadlineCluster();

    /** The fabric's name. */
    String fabric();

    /** A directory for this test only. */
    Path root();
}

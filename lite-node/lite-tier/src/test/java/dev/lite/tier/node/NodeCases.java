package dev.lite.tier.node;

import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;

/** What the cases of {@link LiteNodeContract} ask for, which alone implements it. */
interface NodeCases {
    /** A cluster of nodes "n0", "n1" and so on, connected; closed after the test. */
    TestCluster cluster(int nodes);

    /** A cluster without a node yet, whose nodes give an operation one second; the caller closes it. */
    TestCluster shortDeadlineCluster();

    /** The fabric's name. */
    String fabric();

    /** A directory of this test alone. */
    Path root();
}

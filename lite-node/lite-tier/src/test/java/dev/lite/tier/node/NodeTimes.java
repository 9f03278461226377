package dev.lite.tier.node;

import java.time.Duration;

/** Sets how long a node waits when it stops: tests of that wait for it. */
public final class NodeTimes {
    private NodeTimes() {}

    /** How long a stop waits for what still uses the node's arena. */
    public static void setEndMax(LiteNode node, Duration longest) {
        node.setEndMax(longest);
    }
}

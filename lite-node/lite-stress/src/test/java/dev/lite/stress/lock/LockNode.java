package dev.lite.stress.lock;

import dev.lite.api.Lite;
import dev.lite.embedded.EmbeddedNode;
import dev.lite.embedded.EmbeddedNodeConfig;
import java.time.Duration;

/** One node in this JVM for all iterations. The words of its locks are mapped, so an uncontended lock takes the short path. */
final class LockNode {
    /** The deadline for acquiring; a lock that is not free by then was lost. */
    static final Duration DEADLINE = Duration.ofSeconds(20);

    private static final EmbeddedNode NODE = start();

    private LockNode() {}

    private static EmbeddedNode start() {
        EmbeddedNode node = EmbeddedNode.start(
                EmbeddedNodeConfig.builder().arenaBytes(16 << 20).build());
        Runtime.getRuntime().addShutdownHook(new Thread(node::close));
        return node;
    }

    static Lite attach(String principal) {
        return NODE.attach(principal);
    }
}

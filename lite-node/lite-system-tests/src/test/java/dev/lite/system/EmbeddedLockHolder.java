package dev.lite.system;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.cluster.process.ProcessEnd;
import dev.lite.embedded.EmbeddedNode;
import dev.lite.embedded.EmbeddedNodeConfig;
import dev.lite.testing.Waits;
import java.time.Duration;

/**
 * An application with an embedded node that is the first one to use a lock. It takes the lock, prints its token, and holds it until it
 * is killed or its parent process ends.
 */
final class EmbeddedLockHolder {
    private EmbeddedLockHolder() {}

    /** @param arguments the process to end with, ZooKeeper, the cluster's name and its secret, the node's name, the lock's name */
    static void main(String[] arguments) {
        ProcessEnd.whenEnded(
                Long.parseLong(arguments[0]), () -> Runtime.getRuntime().halt(0));
        EmbeddedNodeConfig config = EmbeddedNodeConfig.builder()
                .zookeeper(arguments[1])
                .cluster(arguments[2])
                .secret(arguments[3])
                .name(arguments[4])
                .arenaBytes(16 << 20)
                .build();
        try (EmbeddedNode node = EmbeddedNode.start(config);
                Lite lite = node.attach("holder");
                HeldLock held = lite.sync().lock(arguments[5]).acquire(Duration.ofSeconds(30))) {
            System.out.println(LockHolder.HOLDS + held.fencingToken());
            while (held.isHeld()) {
                Waits.pass(Duration.ofMillis(100));
            }
        }
    }
}

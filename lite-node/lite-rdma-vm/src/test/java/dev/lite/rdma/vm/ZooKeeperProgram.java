package dev.lite.rdma.vm;

import dev.lite.manager.zookeeper.EmbeddedZooKeeper;
import dev.lite.manager.zookeeper.EmbeddedZooKeeperConfig;
import java.nio.file.Path;
import java.time.Duration;

/** ZooKeeper in a process of its own, until it is killed. */
final class ZooKeeperProgram {
    private static final Duration DEADLINE = Duration.ofMinutes(1);

    private ZooKeeperProgram() {}

    /**
     * Starts it and says so.
     *
     * @param arguments the address to listen at
     */
    public static void main(String[] arguments) {
        // Its threads keep the process.
        EmbeddedZooKeeper.start(new EmbeddedZooKeeperConfig(
                arguments[0], NodeProgram.ZOOKEEPER_PORT, Path.of("/dev/shm/zookeeper"), DEADLINE));
        System.out.println("zookeeper");
    }
}

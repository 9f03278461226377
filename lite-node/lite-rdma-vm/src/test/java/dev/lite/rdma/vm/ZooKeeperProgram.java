package dev.lite.rdma.vm;

import dev.lite.manager.zookeeper.EmbeddedZooKeeper;
import dev.lite.manager.zookeeper.EmbeddedZooKeeperConfig;
import java.nio.file.Path;
import java.time.Duration;

/** ZooKeeper in its own process, until it is killed. */
final class ZooKeeperProgram {
    private static final Duration DEADLINE = Duration.ofMinutes(1);

    private ZooKeeperProgram() {}

    /**
     * Starts ZooKeeper and prints a line when it is ready.
     *
     * @param arguments the address to listen on
     */
    public static void main(String[] arguments) {
        // Its threads keep the process alive.
        EmbeddedZooKeeper.start(new EmbeddedZooKeeperConfig(
                arguments[0], NodeProgram.ZOOKEEPER_PORT, Path.of("/dev/shm/zookeeper"), DEADLINE));
        System.out.println("zookeeper");
    }
}

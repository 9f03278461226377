package dev.lite.cluster;

import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/** On a real ZooKeeper. One server for all tests, one cluster name for each. */
class CuratorOrdersTest extends OrdersContract {
    private static final AtomicInteger CLUSTERS = new AtomicInteger();

    @TempDir
    static Path directory;

    private static RealZooKeeper zooKeeper;

    private final String cluster = "orders-" + CLUSTERS.incrementAndGet();

    @BeforeAll
    static void startZooKeeper() {
        zooKeeper = new RealZooKeeper(directory);
    }

    @AfterAll
    static void stopZooKeeper() {
        zooKeeper.close();
    }

    @Override
    ClusterDirectory openSession() {
        return CuratorDirectory.open(
                new CuratorConfig(zooKeeper.connectString(), cluster, Waits.seconds(5), Waits.seconds(1)));
    }

    @Override
    void stopDirectory() {
        zooKeeper.stop();
    }

    @Override
    void startDirectory() {
        zooKeeper.start();
    }
}

package dev.lite.cluster;

import dev.lite.testing.Waits;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Orders on a real ZooKeeper. All tests share one server; each has its own cluster name. */
class CuratorOrdersTest extends OrdersContract {
    private static final AtomicInteger CLUSTERS = new AtomicInteger();

    @RegisterExtension
    static final RealZooKeeper zooKeeper = new RealZooKeeper();

    private final String cluster = "orders-" + CLUSTERS.incrementAndGet();

    @Override
    ClusterDirectory openSession() {
        return zooKeeper.open(cluster, Waits.seconds(5));
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

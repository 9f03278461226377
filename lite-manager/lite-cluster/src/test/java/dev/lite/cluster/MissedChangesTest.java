package dev.lite.cluster;

import static dev.lite.cluster.ClusterDirectoryContract.DEADLINE;
import static dev.lite.cluster.ClusterDirectoryContract.advert;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A real ZooKeeper that one process cannot reach while others change what it has cached. */
class MissedChangesTest {
    private static final String CLUSTER = "missed";
    private static final Duration SESSION_TIMEOUT = Waits.seconds(20);

    /** Longer than ten attempts, with pauses of up to 1 s. */
    private static final Duration OUTAGE = Duration.ofSeconds(13);

    @RegisterExtension
    static final RealZooKeeper zooKeeper = new RealZooKeeper();

    private static CuratorDirectory open(String connectString) {
        return CuratorDirectory.open(new CuratorConfig(connectString, CLUSTER, SESSION_TIMEOUT, Waits.seconds(1)));
    }

    @Test
    void aNodeThatRegisteredAgainAndItsFunctionsAreSeenAfterReconnecting() throws IOException {
        try (Gate gate = new Gate(zooKeeper.connectString());
                CuratorDirectory watcher = open(gate.connectString())) {
            RecordingListener heard = new RecordingListener();
            watcher.addListener(heard);
            NodeRecord former;
            try (CuratorDirectory node = open(zooKeeper.connectString())) {
                former = node.register(advert("a"), DEADLINE);
                assertThat(node.publishFunctions(former, List.of("old"), DEADLINE))
                        .isTrue();
                Waits.until("the node is seen", () -> watcher.nodes().equals(List.of(former)));
                assertThat(watcher.nodesServing("old", DEADLINE)).containsExactly("a");
                gate.shut();
                Waits.until("the connection is lost", () -> heard.availability.contains(false));
            }
            try (CuratorDirectory node = open(zooKeeper.connectString())) {
                NodeRecord now = node.register(advert("a"), DEADLINE);
                assertThat(now.incarnation()).isGreaterThan(former.incarnation());
                assertThat(node.publishFunctions(now, List.of("new"), DEADLINE)).isTrue();

                gate.open();

                Waits.until(
                        "the new registration is seen", () -> watcher.nodes().equals(List.of(now)));
                Waits.until(
                        "the new functions are seen",
                        () -> watcher.nodesServing("new", DEADLINE).equals(List.of("a")));
            }
        }
    }

    /** The children of a znode are not read again while it has the same version of its children. */
    @Test
    void anOutageWhileTheRegistrationsAreReadHidesNone() throws IOException {
        AtomicReference<Runnable> once = new AtomicReference<>();
        CountDownLatch shut = new CountDownLatch(1);
        try (CuratorDirectory node = open(zooKeeper.connectString());
                Gate gate = new Gate(zooKeeper.connectString(), read -> {
                    if (read.type() == OpCode.getChildren2 && read.path().endsWith("/live")) {
                        once.getAndSet(() -> {}).run();
                    }
                })) {
            NodeRecord there = node.register(advert("b"), DEADLINE);
            once.set(() -> {
                gate.shut();
                shut.countDown();
            });
            try (CuratorDirectory watcher = open(gate.connectString())) {
                Waits.await(shut);
                Waits.pass(OUTAGE);
                gate.open();

                Waits.until("the node is seen", () -> watcher.nodes().equals(List.of(there)));
            }
        }
    }
}

package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Extent;
import dev.lite.api.Lite;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.Permission;
import dev.lite.local.LocalCluster;
import dev.lite.log.LiteLog;
import dev.lite.log.LogPosition;
import dev.lite.testing.Waits;
import java.time.Duration;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A log is moved, its writers are killed, and nodes drain and restart one after the other, over TCP all of them, while two consumers follow
 * it. The timeout of holes is longer than the test: readers pass a hole only when its writer is proven to have ended.
 */
@ExtendWith(SharedClusters.Resolver.class)
class LogMovesTest {
    private static final Duration NEVER = Duration.ofHours(1);
    private static final int SOME = 200;

    @ParameterizedTest
    @ValueSource(strings = {"shm", "tcp"})
    void aLogOutlivesMovesAndItsWritersAndARollingRestart(String fabric, SharedClusters clusters) {
        try (SharedClusters.Borrowed borrowed = clusters.borrow(fabric)) {
            LocalCluster cluster = borrowed.cluster();
            try (Lite lite = attach(cluster);
                    TestedLog tested = new TestedLog(lite, "log-moves-" + fabric, NEVER)) {
                LiteLog log = tested.log;
                LogWriters writers = tested.writers;
                LogWriters.Writer one = writers.start(cluster.socket(1));
                LogWriters.Writer two = writers.start(cluster.socket(2));
                one.awaitMore(SOME);
                two.awaitMore(SOME);

                for (int node = 1; node <= SharedClusters.NODES; node++) {
                    moveTo(lite, log, LocalCluster.nodeName(node));
                    LogWriters.Writer victim = writers.start(cluster.socket(node));
                    one.awaitMore(SOME);
                    two.awaitMore(SOME);
                    victim.awaitMore(SOME);
                    kill(writers, victim);
                }
                int restarts = fabric.equals("tcp") ? SharedClusters.NODES : 1; // each takes seconds
                for (int node = 1; node <= restarts; node++) {
                    assertThat(cluster.stop(node)).as("node %d drains", node).isTrue();
                    cluster.startNode(node);
                    one.awaitMore(SOME);
                    two.awaitMore(SOME);
                }
                kill(writers, one);

                assertThat(tested.finish()).isGreaterThan(10 * SOME);
                tested.delete();
            }
        }
    }

    private static Lite attach(LocalCluster cluster) {
        return Lite.attach(Lite.AttachOptions.to(cluster.socket(1), "system-test")
                .withReattach(true)
                .withDeadline(Waits.seconds(20)));
    }

    /** Pauses it first: in the middle of an append, as a rule. */
    private static void kill(LogWriters writers, LogWriters.Writer victim) {
        Signals.send(victim.process.pid(), "STOP");
        writers.kill(victim);
    }

    /** Moves the metadata and the segment that the writers use, which may be cleaned meanwhile. */
    private static void moveTo(Lite lite, LiteLog log, String node) {
        try (LmrHandle metadata = lite.memory().map(log.name() + ".log", Permission.MASTER)) {
            metadata.moveTo(node);
            assertThat(metadata.extents()).extracting(Extent::node).containsOnly(node);
            String segment =
                    "%s.log/%x/%d".formatted(log.name(), metadata.id(), LogPosition.segment(log.endPosition()));
            try (LmrHandle data = lite.memory().map(segment, Permission.MASTER)) {
                data.moveTo(node);
            } catch (LmrNotFoundException | LmrFreedException e) {
                System.out.println(segment + " was cleaned");
            }
        }
    }
}

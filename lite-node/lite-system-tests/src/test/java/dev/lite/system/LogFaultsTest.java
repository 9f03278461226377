package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Writers of a log are killed and paused, and so are nodes, while two consumers follow the log. A cleaner in each process, of which one is
 * elected, frees what they have read. No acknowledged commit is lost, none is there twice, and both consumers see the same.
 */
@ExtendWith(SharedClusters.Resolver.class)
class LogFaultsTest {
    private static final Duration HOLE_TIMEOUT = Duration.ofMillis(300);
    private static final int SOME = 300;

    @ParameterizedTest
    @ValueSource(strings = {"shm", "tcp"})
    void noAcknowledgedCommitIsLostWhileWritersAndNodesAreKilledAndPaused(String fabric, SharedClusters clusters) {
        try (SharedClusters.Borrowed borrowed = clusters.borrow(fabric)) {
            LocalCluster cluster = borrowed.cluster();
            try (Lite lite = Clusters.attach(cluster, 1);
                    TestedLog tested = new TestedLog(lite, "log-faults-" + fabric, HOLE_TIMEOUT)) {
                LogWriters writers = tested.writers;
                LogWriters.Writer one = writers.start(cluster.socket(1));
                LogWriters.Writer two = writers.start(cluster.socket(2));
                LogWriters.Writer three = writers.start(cluster.socket(3));
                one.awaitMore(SOME);
                two.awaitMore(SOME);
                three.awaitMore(SOME);

                killWriters(cluster, writers);
                pauseAndContinue(one.process.pid(), two);
                one.awaitMore(SOME);

                cluster.kill(3);
                cluster.startNode(3);
                three.awaitMore(SOME); // attached again
                pauseAndContinue(cluster.node(2).pid(), one);
                two.awaitMore(SOME);
                assertThat(cluster.stop(2)).as("node-2 drains and ends").isTrue();
                cluster.startNode(2);
                two.awaitMore(SOME);

                int acknowledged = tested.finish();
                System.out.printf("%s: %d acknowledged%n", fabric, acknowledged);
                assertThat(acknowledged).isGreaterThan(8 * SOME);
                assertThat(tested.log.firstPosition()).as("the cleaner worked").isPositive();
                tested.delete();
            }
        }
    }

    private static void killWriters(LocalCluster cluster, LogWriters writers) {
        List<LogWriters.Writer> victims = new ArrayList<>();
        for (int node = 1; node <= SharedClusters.NODES; node++) {
            victims.add(writers.start(cluster.socket(node)));
        }
        for (LogWriters.Writer victim : victims) {
            victim.awaitMore(SOME);
            writers.kill(victim);
        }
    }

    /** The others continue meanwhile. */
    private static void pauseAndContinue(long pid, LogWriters.Writer other) {
        Signals.send(pid, "STOP");
        try {
            Waits.pass(HOLE_TIMEOUT.multipliedBy(3));
        } finally {
            Signals.send(pid, "CONT");
        }
        other.awaitMore(SOME);
    }
}

package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.local.LocalCluster;
import dev.lite.log.LiteLog;
import dev.lite.log.LiteLogs;
import dev.lite.log.LogSpec;
import dev.lite.testing.CommitChecker;
import dev.lite.testing.Waits;
import java.time.Duration;
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
        String name = "log-faults-" + fabric;
        try (SharedClusters.Borrowed borrowed = clusters.borrow(fabric)) {
            LocalCluster cluster = borrowed.cluster();
            CommitChecker checker = new CommitChecker();
            LogSpec spec = LogSpec.defaults()
                    .withSegmentBytes(64 << 10)
                    .withRetentionBytes(0)
                    .withHoleTimeout(HOLE_TIMEOUT);
            try (Lite lite = Clusters.attach(cluster, 1);
                    LiteLogs logs = new LiteLogs(lite, Waits.seconds(60));
                    LogConsumers consumers = new LogConsumers();
                    LogWriters writers = new LogWriters(name, checker)) {
                LiteLog log = logs.create(name, spec);
                consumers.start(log, "one", checker.copy());
                consumers.start(log, "two", checker.copy());
                log.startCleaner();

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

                writers.finish();
                consumers.finish();
                checker.check();
                System.out.printf("%s: %d acknowledged%n", fabric, checker.acknowledgedCount());
                assertThat(checker.acknowledgedCount()).isGreaterThan(8 * SOME);
                assertThat(log.firstPosition()).as("the cleaner worked").isPositive();
                log.close();
                logs.delete(name);
            }
        }
    }

    private static void killWriters(LocalCluster cluster, LogWriters writers) {
        for (int count = 0; count < 4; count++) {
            LogWriters.Writer victim = writers.start(cluster.socket(1 + count % 3));
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

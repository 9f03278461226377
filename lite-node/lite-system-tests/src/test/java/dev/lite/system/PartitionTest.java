package dev.lite.system;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.lite.api.Lite;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A network partition between two hosts; all others can reach both. Skipped if network namespaces cannot be created. */
@Tag("faults")
class PartitionTest {
    private static final Duration SESSION_TIMEOUT = Waits.seconds(3);
    private static final Duration DEADLINE = Waits.seconds(5);
    private static final Duration SOON = Waits.seconds(90);
    private static final long SEED = Long.getLong("lite.faults.seed", System.nanoTime());

    @TempDir
    private Path directory;

    /** Directory of the arenas. */
    @TempDir(factory = InDevShm.class)
    private Path memory;

    @Test
    void aPartitionBetweenTwoNodesAffectsNoOther() throws IOException {
        var reason = Hosts.unavailable();
        assumeTrue(reason.isEmpty(), () -> "skipped: " + reason.orElse(""));
        System.out.println("seed " + SEED);
        Path logs = Path.of(System.getProperty("lite.system.logs"), "PartitionTest");
        List<String> properties = List.of(
                "--lite.cluster.session-timeout=" + SESSION_TIMEOUT.toMillis() + "ms",
                "--lite.node.deadline=" + DEADLINE.toMillis() + "ms",
                "--lite.node.tcp.peer-timeout=" + SESSION_TIMEOUT.toMillis() + "ms");
        FaultReport report = new FaultReport(SESSION_TIMEOUT);
        try (var cluster = new HostsCluster(3, directory, memory, logs, properties);
                Applications applications = new Applications()) {
            for (int host = 1; host <= 3; host++) {
                try (Lite lite = cluster.attach(host)) {
                    HostsCluster.awaitConnected(lite, 2);
                }
            }
            try (Workload workload =
                    new Workload(SEED, 3, host -> applications.start(cluster.socket(host), DEADLINE), DEADLINE, true)) {
                workload.start();
                var unused = workload.awaitRound(SOON);
                WorkloadBooks.Tally before = workload.books().tally();

                cluster.hosts().cut(2, 3);

                // node-1, which reaches both, is the home of the locks' words. So locks work at every node, even after
                // operations across the cut have failed.
                Duration locks = workload.awaitLocks(SOON, 1, 2, 3);
                Waits.until(
                        "an operation across the cut fails",
                        SOON,
                        () -> workload.books().tally().minus(before).failed() > 0);
                var unusedLocks = workload.awaitLocks(SOON, 1, 2, 3);
                cluster.hosts().heal(2, 3);
                Duration recovery = workload.awaitRound(SOON);
                report.add(
                        "a partition between two nodes",
                        workload.books().tally().minus(before),
                        recovery,
                        locks);
                workload.finish();
                FaultReport.requireRight(workload);
            }
        }
    }
}

package dev.lite.system;

import dev.lite.api.Lite;
import dev.lite.api.NodeInfo;
import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;

/** A suite of faults under a checked workload: each of its tests is one fault and adds one line to its report. */
abstract class FaultSuite {
    /** The deadline of operations: longer than a node takes to start on a busy machine. */
    static final Duration DEADLINE = Waits.seconds(30);

    static final Duration SOON = Waits.seconds(90);
    static final long SEED = Long.getLong("lite.faults.seed", System.nanoTime());
    static final String FABRICS = System.getProperty("lite.faults.fabrics", "tcp");
    static final int NODES = 3;

    private final FaultReport report;
    private WorkloadBooks.Tally before = WorkloadBooks.Tally.NONE;
    private String fault = "";

    FaultSuite(FaultReport report) {
        this.report = report;
    }

    /** The workload of the suite, which runs. */
    abstract Workload workload();

    /** Repairs what the fault before has left broken. */
    abstract void repair();

    /** Waits until the whole cluster works. */
    @BeforeEach
    void begin(TestInfo test) {
        fault = test.getDisplayName().replace("()", "");
        repair();
        var unused = workload().awaitRound(SOON);
        before = workload().books().tally();
    }

    @AfterEach
    void nothingIsWrong() {
        FaultReport.requireRight(workload());
    }

    /** Gives the line of this fault another name than that of its test. */
    final void nameFault(String name) {
        fault = name;
    }

    /** Called at the end of a fault: waits for the recovery, and adds its line; see {@link FaultReport#add}. */
    final void over(@Nullable Duration locks) {
        Duration recovery = workload().awaitRound(SOON);
        report.add(fault, workload().books().tally().minus(before), recovery, locks);
    }

    /** Waits until every node is connected with all others. */
    static void awaitConnections(LocalCluster cluster) {
        for (int node = 1; node <= NODES; node++) {
            try (Lite lite = Clusters.attach(cluster, node)) {
                Waits.until("all nodes are connected", SOON, () -> {
                    List<NodeInfo> nodes = lite.nodes();
                    return nodes.size() == NODES
                            && nodes.stream().noneMatch(other -> other.fabric().equals("none"));
                });
            }
        }
    }

    /** Ends the workload, prints the report, and closes the parts in this order; null: it was not started. */
    static void end(@Nullable Workload workload, FaultReport report, @Nullable AutoCloseable... parts)
            throws IOException {
        try {
            if (workload != null) {
                workload.finish();
                FaultReport.requireRight(workload);
                workload.close();
            }
        } finally {
            report.print();
            for (AutoCloseable part : parts) {
                closeQuietly(part);
            }
        }
    }

    private static void closeQuietly(@Nullable AutoCloseable part) throws IOException {
        try {
            if (part != null) {
                part.close();
            }
        } catch (IOException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IOException(e);
        }
    }
}

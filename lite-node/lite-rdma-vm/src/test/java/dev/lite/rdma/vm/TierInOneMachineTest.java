package dev.lite.rdma.vm;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * The tier's tests over RDMA, between nodes in one JVM: every operation for every kind of caller and layout, and the
 * suite of all fabrics. Before them, tests without a device show that the machine runs tests. Those of calls are in
 * {@link DriverInOneMachineTest}, so that two processors share the work.
 */
@ResourceLock(Machines.SECOND_PROCESSOR)
class TierInOneMachineTest {
    /** Reduces repetitions in the tests, because the processor is emulated. */
    static final List<String> JVM =
            List.of("-Xmx384m", "-XX:TieredStopAtLevel=1", "-Dlite.test.fabrics=rdma", "-Dlite.test.effort=0.1");

    @AutoClose
    private final Machine machine = Machines.one("tier");

    @TestFactory
    Stream<DynamicNode> theTiersSuitePassesOverRdma() {
        return GuestSuite.run(
                machine,
                "tier",
                Stream.of(
                                "fabric.simulated.SimulatedNetworkTest",
                                "tier.node.EveryOperationTest",
                                "tier.node.AbsentNodeTest",
                                "tier.node.RdmaLiteNodeTest",
                                "tier.sync.RdmaSyncTest")
                        .map("dev.lite."::concat)
                        .toList(),
                JVM,
                GuestSuite.LONGEST);
    }
}

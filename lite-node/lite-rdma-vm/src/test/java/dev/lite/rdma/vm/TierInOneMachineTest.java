package dev.lite.rdma.vm;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.TestFactory;

/** Every operation of the tier over RDMA, between nodes in one JVM. */
class TierInOneMachineTest {
    @AutoClose
    private final Machine machine = Machines.one("tier");

    @TestFactory
    Stream<DynamicNode> theTiersSuitePassesOverRdma() {
        return GuestSuite.run(
                machine,
                "tier",
                Stream.of("RdmaLiteNodeTest", "RdmaRpcTest", "RdmaSyncTest", "EveryOperationTest")
                        .map("dev.lite.tier.node."::concat)
                        .toList(),
                List.of("-Xmx384m", "-XX:TieredStopAtLevel=1", "-Dlite.test.fabrics=rdma"),
                Duration.ofMinutes(9));
    }
}

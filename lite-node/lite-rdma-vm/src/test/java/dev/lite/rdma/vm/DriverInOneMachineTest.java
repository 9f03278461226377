package dev.lite.rdma.vm;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * The RDMA driver fulfils the SPI's contract on a device, and carries the tier's calls and messages, between nodes in one JVM. One after
 * the other in one machine, because each boot takes ten seconds.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@ResourceLock(Machines.FIRST_PROCESSOR)
class DriverInOneMachineTest {
    @AutoClose
    private final Machine machine = Machines.one("driver");

    @TestFactory
    Stream<DynamicNode> theConformanceSuiteAndTheDriversOwnTestsPass() {
        return GuestSuite.run(
                machine,
                "driver",
                List.of("dev.lite.fabric.rdma.RdmaFabricConformanceTest", "dev.lite.fabric.rdma.RdmaFabricTest"),
                List.of("-Xmx256m", "-XX:TieredStopAtLevel=1", Jvm.FOR_DISNI),
                GuestSuite.LONGEST);
    }

    @TestFactory
    Stream<DynamicNode> callsWorkOverRdma() {
        return GuestSuite.run(
                machine,
                "calls",
                List.of("dev.lite.tier.rpc.RdmaRpcTest"),
                TierInOneMachineTest.JVM,
                GuestSuite.LONGEST);
    }
}

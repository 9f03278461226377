package dev.lite.rdma.vm;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.parallel.ResourceLock;

/** The RDMA driver fulfils the SPI's contract on a device. */
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
                List.of("-Xmx256m", "-XX:TieredStopAtLevel=1"),
                GuestSuite.LONGEST);
    }
}

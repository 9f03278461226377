package dev.lite.rdma.vm;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.parallel.ResourceLock;

/** Every operation of the tier over RDMA, for every kind of caller and layout, between nodes in one JVM. */
@ResourceLock(Machines.SECOND_PROCESSOR)
class OperationsInOneMachineTest {
    @AutoClose
    private final Machine machine = Machines.one("operations");

    @TestFactory
    Stream<DynamicNode> everyOperationWorksOverRdma() {
        return GuestSuite.run(
                machine,
                "operations",
                List.of("dev.lite.tier.node.EveryOperationTest"),
                TierInOneMachineTest.JVM,
                GuestSuite.LONGEST);
    }
}

package dev.lite.rdma.vm;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.TestFactory;

/** Every operation of the tier over RDMA, for every kind of caller and layout, between nodes in one JVM. */
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

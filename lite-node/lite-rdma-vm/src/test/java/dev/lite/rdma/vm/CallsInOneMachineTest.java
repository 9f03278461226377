package dev.lite.rdma.vm;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.parallel.ResourceLock;

/** Calls and messages of the tier over RDMA, between nodes in one JVM. In a machine of their own, so that two processors share the work. */
@ResourceLock(Machines.FIRST_PROCESSOR)
class CallsInOneMachineTest {
    @AutoClose
    private final Machine machine = Machines.one("calls");

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

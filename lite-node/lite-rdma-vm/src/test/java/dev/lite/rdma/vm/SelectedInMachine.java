package dev.lite.rdma.vm;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.TestFactory;

/**
 * Runs the classes named by {@code -Dlite.rdma.vm.select=} in one machine, with the JVM arguments of {@code
 * -Dlite.rdma.vm.args=}.
 */
class SelectedInMachine {
    private static @Nullable Machine machine;

    @AfterAll
    static void close() {
        if (machine != null) {
            machine.close();
        }
    }

    @TestFactory
    Stream<DynamicNode> selected() {
        machine = Machines.one("selected");
        List<String> jvm = Stream.concat(
                        Stream.of(Jvm.FOR_DISNI),
                        Arrays.stream(
                                System.getProperty("lite.rdma.vm.args", "").split(" ", -1)))
                .filter(argument -> !argument.isEmpty())
                .toList();
        return GuestSuite.run(
                machine,
                "selected",
                List.of(System.getProperty("lite.rdma.vm.select", "").split(",", -1)),
                jvm,
                Duration.ofMinutes(10));
    }
}

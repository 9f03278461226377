package dev.lite.rdma.vm;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * Checks what the other tests require of the machines: a device, and a network between two of them. Its machines take
 * turns, so that both need one processor only.
 */
@ResourceLock(Machines.FIRST_PROCESSOR)
class SoftRoceTest {
    private static final Duration DEADLINE = Duration.ofMinutes(1);
    private static final int ITERATIONS = 200;

    private static Machines.@Nullable Pair machines;

    @BeforeAll
    static void boot() {
        machines = Machines.two("soft-roce");
    }

    @AfterAll
    static void close() {
        if (machines != null) {
            machines.close();
        }
    }

    private static Machines.Pair machines() {
        return Objects.requireNonNull(machines);
    }

    @Test
    void eachMachineHasADeviceThatIsActive() {
        for (Machine machine : List.of(machines().a(), machines().b())) {
            assertThat(machine.run("ibv_devinfo", DEADLINE)).contains("PORT_ACTIVE");
        }
    }

    @Test
    void perftestWritesBetweenTwoProcessesOfOneMachine() {
        assertThat(Perftest.latencyUs("ib_write_lat", machines().a(), machines().a(), 64, ITERATIONS))
                .isPositive();
    }

    @Test
    void perftestWritesBetweenTwoMachines() {
        assertThat(Perftest.latencyUs("ib_write_lat", machines().a(), machines().b(), 64, ITERATIONS))
                .isPositive();
    }
}

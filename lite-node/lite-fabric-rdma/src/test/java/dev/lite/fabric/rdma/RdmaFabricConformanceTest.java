package dev.lite.fabric.rdma;

import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.conformance.FabricConformanceTest;
import dev.lite.fabric.driver.ConnectionLimits;
import java.lang.foreign.Arena;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;

/** The RDMA driver fulfils the SPI's contract. */
class RdmaFabricConformanceTest extends FabricConformanceTest {
    @BeforeAll
    static void needADevice() {
        Devices.assumeOne();
    }

    @Override
    protected FabricProvider provider() {
        return new RdmaFabricProvider();
    }

    @Override
    protected Map<String, String> options() {
        // Few connections, so that even software devices support several queues of that length in one process.
        // And a long peer timeout, because probes would hide a missing wake-up.
        return Map.of(
                RdmaOptions.SECRET,
                Devices.SECRET,
                ConnectionLimits.CONNECTIONS_MAX,
                "16",
                RdmaOptions.PEER_TIMEOUT_MS,
                "600000");
    }

    @Override
    protected FabricMemory memory(long bytes) {
        return new FabricMemory(Arena.ofAuto().allocate(bytes, 4096), FabricMemory.NO_DESCRIPTOR);
    }
}

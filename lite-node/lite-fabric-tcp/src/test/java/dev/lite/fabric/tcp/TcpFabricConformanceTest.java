package dev.lite.fabric.tcp;

import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.conformance.FabricConformanceTest;
import java.lang.foreign.Arena;
import java.util.Map;

/** The TCP driver fulfils the SPI's contract. */
class TcpFabricConformanceTest extends FabricConformanceTest {
    @Override
    protected FabricProvider provider() {
        return new TcpFabricProvider();
    }

    @Override
    protected Map<String, String> options() {
        return Map.of("secret", TestNode.SECRET);
    }

    @Override
    protected FabricMemory memory(long bytes) {
        return new FabricMemory(Arena.ofAuto().allocate(bytes, 4096), FabricMemory.NO_DESCRIPTOR);
    }
}

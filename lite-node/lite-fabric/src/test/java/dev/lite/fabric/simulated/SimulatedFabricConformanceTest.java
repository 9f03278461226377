package dev.lite.fabric.simulated;

import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.conformance.FabricConformanceTest;
import java.lang.foreign.Arena;
import java.util.IdentityHashMap;
import java.util.List;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** The simulated driver fulfils the SPI's contract with every seed. */
@ParameterizedClass(name = "seed {0}")
@MethodSource("seeds")
class SimulatedFabricConformanceTest extends FabricConformanceTest {
    @Parameter
    long networkSeed;

    private final IdentityHashMap<FabricMemory, Arena> arenas = new IdentityHashMap<>();

    static List<Long> seeds() {
        return List.of(1L, 2L, 3L, Long.getLong("lite.test.seed", System.nanoTime()));
    }

    @Override
    protected long seed() {
        return networkSeed;
    }

    @Override
    protected FabricProvider provider() {
        return new SimulatedNetwork(SimulatedOptions.seeded(networkSeed)).provider();
    }

    @Override
    protected FabricMemory memory(long bytes) {
        Arena arena = Arena.ofShared();
        FabricMemory memory = new FabricMemory(arena.allocate(bytes, Long.BYTES), FabricMemory.NO_DESCRIPTOR);
        arenas.put(memory, arena);
        return memory;
    }

    @Override
    protected void release(FabricMemory memory) {
        Arena arena = arenas.remove(memory);
        if (arena != null) {
            arena.close();
        }
    }
}

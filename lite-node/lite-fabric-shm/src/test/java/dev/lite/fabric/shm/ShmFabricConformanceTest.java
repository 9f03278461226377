package dev.lite.fabric.shm;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.conformance.FabricConformanceTest;
import dev.lite.os.SharedMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The shared-memory driver fulfils the SPI's contract. */
class ShmFabricConformanceTest extends FabricConformanceTest {
    /** The shared memories by their descriptors. */
    private final Map<Integer, SharedMemory> memories = new HashMap<>();

    @Override
    protected FabricProvider provider() {
        return new OneDirectoryEach(new ShmFabricProvider());
    }

    /** The suite has one run directory, but this driver's sockets all have the same name, so each node gets its own directory. */
    private record OneDirectoryEach(FabricProvider driver) implements FabricProvider {
        @Override
        public String name() {
            return driver.name();
        }

        @Override
        public Optional<String> unavailable() {
            return driver.unavailable();
        }

        @Override
        public Fabric open(FabricConfig config, FabricHandler handler) {
            try {
                var directory = Files.createDirectories(config.runDirectory().resolve(config.node()));
                return driver.open(
                        new FabricConfig(config.node(), config.hello(), directory, config.options()), handler);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    @Override
    protected FabricMemory memory(long bytes) {
        var memory = SharedMemory.createMemfd("conformance", bytes);
        memories.put(memory.descriptor(), memory);
        return new FabricMemory(memory.segment(), memory.descriptor());
    }

    @Override
    protected void release(FabricMemory memory) {
        var mapped = memories.remove(memory.descriptor());
        if (mapped != null) {
            mapped.close();
        }
    }
}

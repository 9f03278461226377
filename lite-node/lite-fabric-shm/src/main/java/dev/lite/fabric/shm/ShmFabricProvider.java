package dev.lite.fabric.shm;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricProvider;
import dev.lite.os.Linux;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Opens the shared-memory fabric, {@code shm}. For its options see {@link ShmOptions}. */
public final class ShmFabricProvider implements FabricProvider {
    /** The driver's name. */
    public static final String NAME = "shm";

    /** For {@link java.util.ServiceLoader}. */
    public ShmFabricProvider() {}

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<String> unavailable() {
        return Linux.unsupported()
                .or(() ->
                        missing(Path.of("/dev/shm"), "a tmpfs").or(() -> missing(Path.of("/proc/self/fd"), "procfs")));
    }

    static Optional<String> missing(Path directory, String fileSystem) {
        return Files.isDirectory(directory)
                ? Optional.empty()
                : Optional.of("the shared-memory fabric needs %s: mount %s there".formatted(directory, fileSystem));
    }

    @Override
    public Fabric open(FabricConfig config, FabricHandler handler) {
        return new ShmFabric(config, ShmOptions.of(config.options()), handler);
    }
}

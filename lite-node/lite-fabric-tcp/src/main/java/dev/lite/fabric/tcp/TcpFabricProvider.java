package dev.lite.fabric.tcp;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricProvider;
import dev.lite.os.Linux;
import java.util.Optional;

/** Opens the TCP fabric, {@code tcp}. For its options see {@link TcpOptions}. */
public final class TcpFabricProvider implements FabricProvider {
    /** The driver's name. */
    public static final String NAME = "tcp";

    /** For {@link java.util.ServiceLoader}. */
    public TcpFabricProvider() {}

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<String> unavailable() {
        return Linux.unsupported();
    }

    @Override
    public Fabric open(FabricConfig config, FabricHandler handler) {
        return new TcpFabric(config, TcpOptions.of(config.options()), handler);
    }
}

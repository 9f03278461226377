package dev.lite.fabric.rdma;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricException;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.rdma.verbs.Device;
import dev.lite.fabric.rdma.verbs.MemoryLock;
import dev.lite.fabric.rdma.verbs.NativeLibrary;
import dev.lite.os.Linux;
import java.util.Optional;

/** Opens the RDMA fabric, {@code rdma}. For its options see {@link RdmaOptions}. */
public final class RdmaFabricProvider implements FabricProvider {
    /** The driver's name. */
    public static final String NAME = "rdma";

    /** For {@link java.util.ServiceLoader}. */
    public RdmaFabricProvider() {}

    @Override
    public String name() {
        return NAME;
    }

    /** Checks the system on each call, with the cheapest checks first. */
    @Override
    public Optional<String> unavailable() {
        return Linux.unsupported()
                .or(() -> Device.missing(Device.all()))
                .or(MemoryLock::tooLow)
                .or(NativeLibrary::problem);
    }

    @Override
    public Fabric open(FabricConfig config, FabricHandler handler) {
        var options = RdmaOptions.of(config.options());
        unavailable().ifPresent(reason -> {
            throw new FabricException("the RDMA fabric cannot be opened: " + reason, null);
        });
        return new RdmaFabric(config, options, handler);
    }
}

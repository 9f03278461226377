package dev.lite.fabric;

import java.util.Optional;

/** A driver; found by {@link java.util.ServiceLoader}. */
public interface FabricProvider {

    /** {@code shm}, {@code tcp}, {@code rdma}. */
    String name();

    /** Why this driver cannot be used on this machine, as a sentence that says what to do; empty if it can. */
    Optional<String> unavailable();

    /**
     * Opens the fabric and begins to accept peers as soon as memory is {@linkplain Fabric#register registered}.
     *
     * @throws FabricException when it cannot be opened
     * @throws IllegalArgumentException when an option is unknown or out of its range
     */
    Fabric open(FabricConfig config, FabricHandler handler);
}

package dev.lite.tier.testing;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricProvider;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;

/**
 * A fabric that the tests of this module do not know: whoever runs them puts its driver on the class path and names it. Tests
 * over the others do not run then.
 *
 * @param driver as loaded
 */
public record NamedFabric(FabricProvider driver) implements FabricProvider {
    /** Names of fabrics, with commas between: tests run over these only. */
    public static final String PROPERTY = "lite.test.fabrics";

    /** What such a fabric is opened with when it asks for a secret; few connections, for devices with short queues. */
    private static final Map<String, Map<String, String>> OPTIONS =
            Map.of("rdma", Map.of("secret", "a secret of the tests' cluster", "connections-max", "8"));

    /** Whether tests over this fabric are to run. */
    public static boolean isWanted(String name, boolean otherwise) {
        String names = System.getProperty(PROPERTY, "");
        return names.isEmpty() ? otherwise : List.of(names.split(",")).contains(name);
    }

    /** The driver of that name on the class path. */
    public static FabricProvider load(String name) {
        return ServiceLoader.load(FabricProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.name().equals(name))
                .findAny()
                .map(NamedFabric::new)
                .orElseThrow(() -> new IllegalStateException(
                        "%s names the fabric %s; no driver on the class path is called so".formatted(PROPERTY, name)));
    }

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
        Map<String, String> options = new HashMap<>(OPTIONS.getOrDefault(name(), Map.of()));
        options.putAll(config.options());
        return driver.open(config.withOptions(options), handler);
    }
}

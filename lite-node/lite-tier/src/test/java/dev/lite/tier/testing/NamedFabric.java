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
 * A fabric whose driver is no dependency of this module. To test it, put its driver on the class path and set {@value #PROPERTY}. Then
 * tests over other fabrics do not run.
 *
 * @param driver the loaded driver
 */
public record NamedFabric(FabricProvider driver) implements FabricProvider {
    /** Comma-separated names of fabrics; tests run only over these. */
    public static final String PROPERTY = "lite.test.fabrics";

    /** Options of such a fabric: a secret, and few connections, for devices with short queues. */
    private static final Map<String, Map<String, String>> OPTIONS =
            Map.of("rdma", Map.of("secret", "a secret of the tests' cluster", "connections-max", "8"));

    /** Whether to run tests over this fabric. */
    public static boolean isWanted(String name, boolean otherwise) {
        String names = System.getProperty(PROPERTY, "");
        return names.isEmpty() ? otherwise : List.of(names.split(",")).contains(name);
    }

    /** The driver of this name on the class path. */
    public static FabricProvider load(String name) {
        return ServiceLoader.load(FabricProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.name().equals(name))
                .findAny()
                .map(NamedFabric::new)
                .orElseThrow(() -> new IllegalStateException(
                        "%s names the fabric %s; no driver on the class path has this name".formatted(PROPERTY, name)));
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

package dev.lite.cluster.process;

import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The URLs of a Spring Boot process, from its properties. Call it when the web server is running: only then the properties
 * {@code local.server.port} and {@code local.management.port} have the actual ports. Any thread.
 */
public final class ProcessUrls {
    private final Function<String, @Nullable String> properties;

    /** @param properties returns the value of a property, or null; for example {@code environment::getProperty} */
    public ProcessUrls(Function<String, @Nullable String> properties) {
        this.properties = properties;
    }

    /** The URL of the health endpoint. */
    public String health() {
        return management() + "/health";
    }

    /**
     * The URL below which the management endpoints are. A management port of its own takes address and encryption from {@code
     * management.server.*}, and from {@code server.*} where those are not set: the encryption from Spring Boot, the address from
     * {@code ManagementAddress}.
     */
    public String management() {
        String path = get("management.endpoints.web.base-path").orElse("/actuator");
        String endpoints = path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
        String managementPort = get("local.management.port").orElse("");
        if (managementPort.isEmpty() || managementPort.equals(port())) {
            return base() + endpoints;
        }
        boolean encrypted = isEncrypted("management.server.ssl", isEncrypted("server.ssl", false));
        String address = get("management.server.address").orElseGet(this::address);
        return url(encrypted, address, managementPort)
                + get("management.server.base-path").orElse("")
                + endpoints;
    }

    /** The URL of the web server, without a trailing slash. */
    public String base() {
        return url(isEncrypted("server.ssl", false), address(), port())
                + get("server.servlet.context-path").orElse("");
    }

    private String address() {
        return get("server.address").orElse("127.0.0.1");
    }

    private String port() {
        return get("local.server.port").orElse("");
    }

    private boolean isEncrypted(String prefix, boolean otherwise) {
        if (get(prefix + ".enabled")
                .map(enabled -> !Boolean.parseBoolean(enabled))
                .orElse(false)) {
            return false;
        }
        return otherwise
                || get(prefix + ".bundle").isPresent()
                || get(prefix + ".key-store").isPresent()
                || get(prefix + ".certificate").isPresent();
    }

    private static String url(boolean encrypted, String address, String port) {
        boolean any = address.equals("0.0.0.0") || address.equals("::");
        String host = any ? "127.0.0.1" : address.contains(":") ? "[" + address + "]" : address;
        return "%s://%s:%s".formatted(encrypted ? "https" : "http", host, port);
    }

    private Optional<String> get(String name) {
        return Optional.ofNullable(properties.apply(name));
    }
}

package dev.lite.manager;

import org.springframework.core.env.Environment;

/** Where this process answers. */
final class HealthUrl {
    private HealthUrl() {}

    /** Where it answers for its health; with the port that it really has, once the web server runs. */
    static String of(Environment environment) {
        String port =
                environment.getProperty("local.management.port", environment.getProperty("local.server.port", ""));
        String address = environment.getProperty(
                "management.server.address", environment.getProperty("server.address", "127.0.0.1"));
        return at(environment, address, port)
                + environment.getProperty("management.endpoints.web.base-path", "/actuator") + "/health";
    }

    /** Where it answers everything else, without a slash at the end. */
    static String base(Environment environment) {
        return at(
                environment,
                environment.getProperty("server.address", "127.0.0.1"),
                environment.getProperty("local.server.port", ""));
    }

    private static String at(Environment environment, String address, String port) {
        boolean any = address.equals("0.0.0.0") || address.equals("::");
        String host = any ? "127.0.0.1" : address.contains(":") ? "[" + address + "]" : address;
        boolean encrypted = environment.containsProperty("server.ssl.bundle")
                || environment.containsProperty("server.ssl.key-store");
        return "%s://%s:%s".formatted(encrypted ? "https" : "http", host, port);
    }
}

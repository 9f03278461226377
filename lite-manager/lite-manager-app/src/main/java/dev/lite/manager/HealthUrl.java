package dev.lite.manager;

import org.springframework.core.env.Environment;

/** Where this process answers for its health. */
final class HealthUrl {
    private HealthUrl() {}

    /** With the port that it really has, once the web server runs. */
    static String of(Environment environment) {
        String port =
                environment.getProperty("local.management.port", environment.getProperty("local.server.port", ""));
        String address = environment.getProperty(
                "management.server.address", environment.getProperty("server.address", "127.0.0.1"));
        boolean any = address.equals("0.0.0.0") || address.equals("::");
        String host = any ? "127.0.0.1" : address.contains(":") ? "[" + address + "]" : address;
        return "http://%s:%s%s/health"
                .formatted(host, port, environment.getProperty("management.endpoints.web.base-path", "/actuator"));
    }
}

package dev.lite.process;

import java.net.InetAddress;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.web.server.ConfigurableWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.core.env.Environment;

/**
 * A management port of its own listens at {@code server.address}, unless {@code management.server.address} is set. Spring Boot would let
 * it listen at every address of the host.
 */
public final class ManagementAddress implements WebServerFactoryCustomizer<ConfigurableWebServerFactory> {
    private final Environment environment;

    /** @param environment has the two properties */
    public ManagementAddress(Environment environment) {
        this.environment = environment;
    }

    /** Runs after Spring Boot's own customizer of that port, which has an order. */
    @Override
    public void customize(ConfigurableWebServerFactory factory) {
        if (!environment.containsProperty("management.server.address")) {
            factory.setAddress(Binder.get(environment)
                    .bind("server.address", InetAddress.class)
                    .orElse(null));
        }
    }
}

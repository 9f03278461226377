package dev.lite.manager.web;

import dev.lite.cluster.process.StartException;
import dev.lite.process.WebLimits;
import io.swagger.v3.oas.models.OpenAPI;
import io.swagger.v3.oas.models.info.Info;
import java.net.InetAddress;
import org.apache.tomcat.util.buf.EncodedSolidusHandling;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.env.Environment;
import tools.jackson.databind.json.JsonMapper;

/** The web server's beans, and the check that only loopback is served without a token. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(WebProperties.class)
class WebConfiguration {
    private static final Logger log = LoggerFactory.getLogger(WebConfiguration.class);

    /** Created with the web server, before the directory: a manager that may not listen changes nothing. */
    @Bean
    FilterRegistrationBean<AccessFilter> accessFilter(
            WebProperties properties, Environment environment, Audit audit, JsonMapper json) {
        AccessTokens tokens = AccessTokens.of(properties);
        checkAddresses(environment, tokens);
        String actuator = environment.getProperty("management.endpoints.web.base-path", "/actuator");
        FilterRegistrationBean<AccessFilter> registration =
                new FilterRegistrationBean<>(new AccessFilter(tokens, audit, actuator, json));
        registration.setOrder(Ordered.HIGHEST_PRECEDENCE);
        return registration;
    }

    @Bean
    Audit audit() {
        return new Audit();
    }

    private static void checkAddresses(Environment environment, AccessTokens tokens) {
        InetAddress address = address(environment, "server.address");
        if (!isLoopback(address)) {
            if (tokens.isEmpty()) {
                throw new StartException(
                        "server.address is %s, which is not a loopback address, and no token is configured: every client that reaches it could drain nodes"
                                .formatted(address == null ? "not set" : address.getHostAddress()),
                        "Set lite.manager.token-file (or lite.manager.token), or server.address to 127.0.0.1.",
                        null);
            }
            if (!environment.containsProperty("server.ssl.bundle")
                    && !environment.containsProperty("server.ssl.key-store")) {
                log.warn(
                        "clients send the token unencrypted over the network: server.address={} without server.ssl.bundle",
                        address == null ? "any" : address.getHostAddress());
            }
        }
        // A separate management port exposes health and metrics, too.
        if (tokens.isEmpty()
                && environment.getProperty("management.server.port") != null
                && !isLoopback(
                        environment.getProperty("management.server.address") == null
                                ? address
                                : address(environment, "management.server.address"))) {
            throw new StartException(
                    "management.server.port is set, management.server.address is not a loopback address, and no token is configured: every client that reaches it could read health and metrics",
                    "Set lite.manager.token-file (or lite.manager.token), or management.server.address to 127.0.0.1.",
                    null);
        }
    }

    private static @Nullable InetAddress address(Environment environment, String property) {
        return Binder.get(environment).bind(property, InetAddress.class).orElse(null);
    }

    private static boolean isLoopback(@Nullable InetAddress address) {
        return address != null && address.isLoopbackAddress();
    }

    /** The head of the OpenAPI document. */
    @Bean
    OpenAPI openApi() {
        String version = WebConfiguration.class.getPackage().getImplementationVersion();
        return new OpenAPI()
                .info(new Info()
                        .title("LITE manager")
                        .version(version == null ? "not packaged" : version)
                        .description("Shows and controls a LITE cluster. Errors are problem details (RFC 9457)."));
    }

    @Bean
    WebLimits webLimits() {
        return new WebLimits();
    }

    /** Allows %2F in the name of an LMR. */
    @Bean
    WebServerFactoryCustomizer<TomcatServletWebServerFactory> connector() {
        return factory -> factory.addConnectorCustomizers(
                connector -> connector.setEncodedSolidusHandling(EncodedSolidusHandling.PASS_THROUGH.getValue()));
    }
}

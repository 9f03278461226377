package dev.lite.node;

import dev.lite.process.ManagementAddress;
import dev.lite.process.WebLimits;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.actuate.autoconfigure.web.server.ConditionalOnManagementPort;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementPortType;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/**
 * The access to a management port of its own, and its limits: those of the node's port. Spring Boot imports this class into the context
 * of that port; it has no annotation, so that the node's own context does not find it.
 */
@ConditionalOnManagementPort(ManagementPortType.DIFFERENT)
@ConditionalOnBean(NodeConfiguration.class) // not in another application that has the node on its class path
class ManagementPortLimits {

    /** A filter of its own: that of the node's port does not see this one. */
    @Bean
    FilterRegistrationBean<ManagementAccess> managementPortFilter(
            NodeProperties properties, @Value("${management.endpoints.web.base-path:/actuator}") String basePath) {
        return new FilterRegistrationBean<>(new ManagementAccess(properties, basePath));
    }

    @Bean
    ManagementAddress managementAddress(Environment environment) {
        return new ManagementAddress(environment);
    }

    @Bean
    WebLimits managementLimits() {
        return new WebLimits();
    }
}

package dev.lite.manager.web;

import dev.lite.process.ManagementAddress;
import dev.lite.process.WebLimits;
import java.util.Objects;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.actuate.autoconfigure.web.server.ConditionalOnManagementPort;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementPortType;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Ordered;
import org.springframework.core.env.Environment;

/**
 * Guards a management port of its own like the manager's port: the probes need no token, everything else does. Its server has
 * connections of its own, so that the probes answer whatever is done to the other one. Spring Boot
 * imports this class into the context of that port; it has no annotation, so that the manager's own context does not find it.
 */
@ConditionalOnManagementPort(ManagementPortType.DIFFERENT)
@ConditionalOnBean(WebConfiguration.class) // not in another application that has the manager on its class path
class ManagementPortAccess {

    @Bean
    FilterRegistrationBean<AccessFilter> managementAccessFilter(
            @Qualifier("accessFilter") FilterRegistrationBean<AccessFilter> ofManager) {
        FilterRegistrationBean<AccessFilter> registration =
                new FilterRegistrationBean<>(Objects.requireNonNull(ofManager.getFilter()));
        registration.setOrder(Ordered.HIGHEST_PRECEDENCE);
        return registration;
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

package dev.lite.manager.web;

import java.util.Objects;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextType;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Ordered;

/**
 * The web server of {@code management.server.port}, if there is one. It has connections of its own, so that the probes answer whatever
 * is done to the other one, and requires the token for everything else.
 */
@ConditionalOnBean(WebProperties.class) // another process may have the manager on its class path
@ManagementContextConfiguration(value = ManagementContextType.CHILD, proxyBeanMethods = false)
class ManagementAccessConfiguration {

    @Bean
    FilterRegistrationBean<AccessFilter> managementAccessFilter(FilterRegistrationBean<AccessFilter> accessFilter) {
        FilterRegistrationBean<AccessFilter> registration =
                new FilterRegistrationBean<>(Objects.requireNonNull(accessFilter.getFilter()));
        registration.setOrder(Ordered.HIGHEST_PRECEDENCE);
        return registration;
    }

    @Bean
    WebServerFactoryCustomizer<TomcatServletWebServerFactory> managementConnections() {
        return factory -> factory.setProtocol(AddressLimitedHttp.class.getName());
    }
}

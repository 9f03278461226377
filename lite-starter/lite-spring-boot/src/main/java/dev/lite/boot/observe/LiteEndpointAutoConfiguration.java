package dev.lite.boot.observe;

import dev.lite.api.Lite;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.SimpleAutowireCandidateResolver;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/**
 * The endpoint {@code lite}, if Actuator is on the class path and the endpoint is exposed. It shows the only
 * or the primary session, else all.
 */
@AutoConfiguration(afterName = "dev.lite.boot.LiteClientAutoConfiguration")
@ConditionalOnClass({Endpoint.class, ConditionalOnAvailableEndpoint.class})
@ConditionalOnBean(Lite.class)
public final class LiteEndpointAutoConfiguration {

    @Bean
    @ConditionalOnAvailableEndpoint
    @ConditionalOnMissingBean
    @ConditionalOnSingleCandidate(Lite.class)
    LiteEndpoint liteEndpoint(Lite lite) {
        return new LiteEndpoint(lite);
    }

    @Bean
    @ConditionalOnAvailableEndpoint
    @ConditionalOnMissingBean({LiteEndpoint.class, LiteSessionsEndpoint.class})
    LiteSessionsEndpoint liteSessionsEndpoint(ConfigurableListableBeanFactory factory) {
        return new LiteSessionsEndpoint(SimpleAutowireCandidateResolver.resolveAutowireCandidates(factory, Lite.class));
    }
}

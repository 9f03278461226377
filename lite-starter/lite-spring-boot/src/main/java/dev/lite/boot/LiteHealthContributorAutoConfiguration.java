package dev.lite.boot;

import dev.lite.api.Lite;
import java.util.Map;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.SimpleAutowireCandidateResolver;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.CompositeHealthContributor;
import org.springframework.boot.health.contributor.HealthContributor;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/**
 * The health contributor {@code lite}, if the module {@code spring-boot-health} is on the class path. With
 * several sessions it has one for each, under the name of its bean.
 */
@AutoConfiguration(after = LiteClientAutoConfiguration.class)
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
@ConditionalOnBean(Lite.class)
public final class LiteHealthContributorAutoConfiguration {

    // On the method: Boot instantiates all conditions of a class before it evaluates any, and this one needs the health
    // module.
    @Bean
    @ConditionalOnEnabledHealthIndicator("lite")
    @ConditionalOnMissingBean(name = {"liteHealthIndicator", "liteHealthContributor"})
    HealthContributor liteHealthContributor(ConfigurableListableBeanFactory factory) {
        Map<String, Lite> sessions = SimpleAutowireCandidateResolver.resolveAutowireCandidates(factory, Lite.class);
        return sessions.size() == 1
                ? new LiteHealthIndicator(sessions.values().iterator().next())
                : CompositeHealthContributor.fromMap(sessions, LiteHealthIndicator::new);
    }
}

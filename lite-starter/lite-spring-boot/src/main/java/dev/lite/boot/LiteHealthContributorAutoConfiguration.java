package dev.lite.boot;

import dev.lite.api.Lite;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/** The health contributor {@code lite}, if the module {@code spring-boot-health} is on the class path. */
@AutoConfiguration(after = LiteClientAutoConfiguration.class)
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
@ConditionalOnSingleCandidate(Lite.class)
public final class LiteHealthContributorAutoConfiguration {

    // On the method: Boot instantiates all conditions of a class before it evaluates any, and this one needs the health
    // module.
    @Bean
    @ConditionalOnEnabledHealthIndicator("lite")
    @ConditionalOnMissingBean(name = {"liteHealthIndicator", "liteHealthContributor"})
    LiteHealthIndicator liteHealthContributor(Lite lite) {
        return new LiteHealthIndicator(lite);
    }
}

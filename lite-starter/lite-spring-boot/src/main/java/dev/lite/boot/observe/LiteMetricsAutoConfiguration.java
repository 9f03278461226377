package dev.lite.boot.observe;

import dev.lite.api.Lite;
import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.SimpleAutowireCandidateResolver;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The metrics {@code lite.client.*}, if the application has a {@link MeterRegistry}. */
@AutoConfiguration(
        afterName = {
            "dev.lite.boot.LiteClientAutoConfiguration",
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration"
        })
@ConditionalOnClass(MeterRegistry.class)
@ConditionalOnBean(Lite.class)
public final class LiteMetricsAutoConfiguration {

    /** Only with a registry: without one nobody would read the samples. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnBean(MeterRegistry.class)
    static final class WithRegistry {
        @Bean
        @ConditionalOnMissingBean
        LiteMetrics liteMetrics(ConfigurableListableBeanFactory factory) {
            return new LiteMetrics(SimpleAutowireCandidateResolver.resolveAutowireCandidates(factory, Lite.class));
        }
    }
}

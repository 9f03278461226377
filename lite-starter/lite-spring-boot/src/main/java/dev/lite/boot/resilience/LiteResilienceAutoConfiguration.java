package dev.lite.boot.resilience;

import dev.lite.api.Lite;
import dev.lite.boot.LiteClientAutoConfiguration;
import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.github.resilience4j.ratelimiter.RateLimiterRegistry;
import io.github.resilience4j.retry.RetryRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

/**
 * Wraps the session with Resilience4j, if its four modules are on the class path. The instances belong to the application's
 * registries, so Resilience4j's endpoints and metrics show them; without such registries they belong to new ones.
 */
@AutoConfiguration(before = LiteClientAutoConfiguration.class)
@ConditionalOnClass({
    CircuitBreakerRegistry.class,
    RetryRegistry.class,
    BulkheadRegistry.class,
    RateLimiterRegistry.class
})
@EnableConfigurationProperties(LiteResilienceProperties.class)
public final class LiteResilienceAutoConfiguration {

    @Bean
    static BeanPostProcessor liteResiliencePostProcessor(
            ConfigurableListableBeanFactory beans,
            ObjectProvider<LiteResilienceProperties> properties,
            ObjectProvider<CircuitBreakerRegistry> circuitBreakers,
            ObjectProvider<RetryRegistry> retries,
            ObjectProvider<BulkheadRegistry> bulkheads,
            ObjectProvider<RateLimiterRegistry> rateLimiters) {
        return new BeanPostProcessor() {
            @Override
            public Object postProcessAfterInitialization(Object bean, String name) {
                if (!(bean instanceof Lite lite) || bean instanceof ResilientLite) {
                    return bean;
                }
                LiteResilienceProperties configured = properties.getObject();
                return Resilience.isOn(configured)
                        ? new ResilientLite(
                                lite,
                                circuitBreakerPrefix(beans, name),
                                configured,
                                new Resilience.Registries(
                                        circuitBreakers.getIfAvailable(CircuitBreakerRegistry::ofDefaults),
                                        retries.getIfAvailable(RetryRegistry::ofDefaults),
                                        bulkheads.getIfAvailable(BulkheadRegistry::ofDefaults),
                                        rateLimiters.getIfAvailable(RateLimiterRegistry::ofDefaults)))
                        : bean;
            }
        };
    }

    /** Several sessions may be with clusters whose nodes have the same names, which have no colon. */
    private static String circuitBreakerPrefix(ConfigurableListableBeanFactory beans, String name) {
        boolean isMain = beans.getBeanNamesForType(Lite.class, true, false).length <= 1
                || (beans.containsBeanDefinition(name)
                        && beans.getMergedBeanDefinition(name).isPrimary());
        return isMain ? Resilience.PREFIX : Resilience.PREFIX + name + ":";
    }
}

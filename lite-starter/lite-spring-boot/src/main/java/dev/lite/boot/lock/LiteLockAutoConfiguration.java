package dev.lite.boot.lock;

import dev.lite.api.Lite;
import dev.lite.api.LtSync;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.boot.LiteClientProperties;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;

/**
 * Locks around methods with {@link LiteLock}. Also with several {@link LtSync}: a call then fails if none is
 * primary, since it must not run without its lock. Without any, the start fails, unless LITE is switched off.
 */
@AutoConfiguration(after = LiteClientAutoConfiguration.class)
public final class LiteLockAutoConfiguration {

    /** Locks of the session. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnBean(LtSync.class)
    @EnableConfigurationProperties(LiteClientProperties.class)
    static class WithLocks {

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static LiteLockPostProcessor liteLockPostProcessor(
                ObjectProvider<Lite> session,
                ObjectProvider<LtSync> sync,
                ObjectProvider<LiteClientProperties> properties,
                Environment environment) {
            return new LiteLockPostProcessor(session, sync, properties, environment);
        }
    }

    /** No locks. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnMissingBean(LtSync.class)
    static class WithoutLocks {

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static MissingLocksPostProcessor liteMissingLocksPostProcessor(
                ListableBeanFactory beans, Environment environment) {
            return new MissingLocksPostProcessor(beans, environment);
        }
    }
}

package dev.lite.boot;

import dev.lite.api.Lite;
import dev.lite.api.LtRpc;
import io.micrometer.observation.ObservationRegistry;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;
import tools.jackson.databind.json.JsonMapper;

/**
 * Handler methods and typed calls, based on {@link LtRpc}. Without an {@link LtRpc}, a handler method fails the
 * start, unless LITE is switched off.
 */
@AutoConfiguration(
        after = LiteClientAutoConfiguration.class,
        afterName = {
            "org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration",
            "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration"
        })
public final class LiteRpcAutoConfiguration {

    /** Calls of the session. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnBean(LtRpc.class)
    @EnableConfigurationProperties(LiteClientProperties.class)
    static class WithRpc {

        @Bean
        static RpcHandlerRegistrar ltRpcHandlerRegistrar(
                ConfigurableListableBeanFactory factory,
                Environment environment,
                ObjectProvider<LtRpc> rpc,
                ObjectProvider<RpcBodies> bodies,
                ObjectProvider<CallObserver> observers) {
            return new RpcHandlerRegistrar(factory, environment, rpc, bodies, observers);
        }

        @Bean
        static RpcHandlerLazyInitializationExcludeFilter ltRpcHandlerLazyInitializationExcludeFilter() {
            return new RpcHandlerLazyInitializationExcludeFilter();
        }

        @Bean
        @ConditionalOnMissingBean
        RpcBodies ltRpcBodies(ObjectProvider<RpcBodies.Json> json) {
            return new RpcBodies(json.getIfAvailable());
        }

        @Bean
        @ConditionalOnMissingBean
        @ConditionalOnSingleCandidate(LtRpc.class)
        LtRpcTemplate ltRpcTemplate(
                LtRpc rpc,
                RpcBodies bodies,
                ObjectProvider<Lite> session,
                LiteClientProperties properties,
                ObjectProvider<CallObserver> observers) {
            return new LtRpcTemplate(
                    rpc, bodies, properties.deadlineOf(session), observers.getIfAvailable(() -> CallObserver.NONE));
        }

        /** Observations if Micrometer is on the class path and the application has a registry for them. */
        @Configuration(proxyBeanMethods = false)
        @ConditionalOnClass(ObservationRegistry.class)
        @ConditionalOnBean(ObservationRegistry.class)
        static class ObservationConfiguration {

            @Bean
            @ConditionalOnMissingBean(CallObserver.class)
            ObservedCalls ltRpcObservedCalls(ObservationRegistry registry) {
                return new ObservedCalls(registry);
            }
        }

        /** JSON if Jackson is on the class path: with the application's mapper, or a default one. */
        @Configuration(proxyBeanMethods = false)
        @ConditionalOnClass(JsonMapper.class)
        static class JsonConfiguration {

            @Bean
            @ConditionalOnMissingBean(RpcBodies.Json.class)
            JacksonBodies ltRpcJson(ObjectProvider<JsonMapper> mapper) {
                return new JacksonBodies(
                        mapper.getIfUnique(() -> JsonMapper.builder().build()));
            }
        }
    }

    /** No calls. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnMissingBean(LtRpc.class)
    static class WithoutRpc {

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static MissingFunctionsPostProcessor liteMissingFunctionsPostProcessor(
                ListableBeanFactory beans, Environment environment) {
            return new MissingFunctionsPostProcessor(beans, environment);
        }

        /** Else such a bean is never created, and the start does not fail. */
        @Bean
        @ConditionalOnBooleanProperty(name = "lite.client.enabled", matchIfMissing = true)
        static RpcHandlerLazyInitializationExcludeFilter ltRpcHandlerLazyInitializationExcludeFilter() {
            return new RpcHandlerLazyInitializationExcludeFilter();
        }
    }
}

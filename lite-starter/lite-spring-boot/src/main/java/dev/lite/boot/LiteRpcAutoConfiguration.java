package dev.lite.boot;

import dev.lite.api.LtRpc;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import tools.jackson.databind.json.JsonMapper;

/** Handler methods and typed calls, based on {@link LtRpc}. */
@AutoConfiguration(
        after = LiteClientAutoConfiguration.class,
        afterName = "org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration")
@ConditionalOnBean(LtRpc.class)
@EnableConfigurationProperties(LiteClientProperties.class)
public final class LiteRpcAutoConfiguration {

    @Bean
    static RpcHandlerRegistrar ltRpcHandlerRegistrar(ObjectProvider<LtRpc> rpc, ObjectProvider<RpcBodies> bodies) {
        return new RpcHandlerRegistrar(rpc, bodies);
    }

    @Bean
    @ConditionalOnMissingBean
    RpcBodies ltRpcBodies(ObjectProvider<RpcBodies.Json> json) {
        return new RpcBodies(json.getIfAvailable());
    }

    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnSingleCandidate(LtRpc.class)
    LtRpcTemplate ltRpcTemplate(LtRpc rpc, RpcBodies bodies, LiteClientProperties properties) {
        return new LtRpcTemplate(rpc, bodies, properties.deadline());
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

package dev.lite.boot;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LtMemory;
import dev.lite.api.LtRpc;
import dev.lite.api.LtSync;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

/**
 * A session with this host's node and its {@link LtMemory}, {@link LtRpc} and {@link LtSync}. The session opens before
 * the beans that use it are created, and closes after they are destroyed. It {@linkplain AttachOptions#withReattach attaches again}
 * after a restart of the node.
 */
@AutoConfiguration
@ConditionalOnClass(Lite.class)
@ConditionalOnBooleanProperty(name = "lite.client.enabled", matchIfMissing = true)
@EnableConfigurationProperties(LiteClientProperties.class)
public final class LiteClientAutoConfiguration {

    private static final String APPLICATION_DEFAULT = "application";

    @Bean
    @ConditionalOnMissingBean(LiteConnectionDetails.class)
    PropertiesLiteConnectionDetails liteConnectionDetails(LiteClientProperties properties) {
        return new PropertiesLiteConnectionDetails(properties);
    }

    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean(Lite.class)
    Lite lite(
            LiteClientProperties properties,
            LiteConnectionDetails details,
            ObjectProvider<AttachOptionsCustomizer> customizers,
            Environment environment) {
        AttachOptions options = AttachOptions.to(
                        details.getSocket(), application(properties.application(), environment))
                .withAlternatives(details.getAlternativeSockets())
                .withWaitersMax(properties.waitersMax())
                .withToken(details.getToken())
                .withDeadline(properties.deadline())
                .withReattach(true)
                .withLazy(properties.lazyAttach());
        for (AttachOptionsCustomizer customizer : customizers.orderedStream().toList()) {
            options = customizer.customize(options);
        }
        return new FirstAttach(options, properties.startDeadline()).attach();
    }

    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnSingleCandidate(Lite.class)
    LtMemory ltMemory(Lite lite) {
        return lite.memory();
    }

    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnSingleCandidate(Lite.class)
    LtRpc ltRpc(Lite lite) {
        return lite.rpc();
    }

    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnSingleCandidate(Lite.class)
    LtSync ltSync(Lite lite) {
        return lite.sync();
    }

    private static String application(@Nullable String configured, Environment environment) {
        if (StringUtils.hasText(configured)) {
            return configured;
        }
        String name = environment.getProperty("spring.application.name");
        return StringUtils.hasText(name) ? name : APPLICATION_DEFAULT;
    }
}

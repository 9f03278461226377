package dev.lite.embedded;

import dev.lite.api.Lite;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

/** Starts a node in the application, and a session with it. The starter's other beans use that session. */
@AutoConfiguration(beforeName = "dev.lite.boot.LiteClientAutoConfiguration")
@ConditionalOnBooleanProperty(name = "lite.embedded.enabled", matchIfMissing = true)
@ConditionalOnMissingBean(Lite.class)
@EnableConfigurationProperties(LiteEmbeddedProperties.class)
public final class LiteEmbeddedAutoConfiguration {
    /** The bean of the node. */
    static final String NODE = "liteEmbeddedNode";

    @Bean(name = NODE, destroyMethod = "close")
    EmbeddedNode liteEmbeddedNode(
            LiteEmbeddedProperties properties, ObjectProvider<EmbeddedNodeCustomizer> customizers) {
        EmbeddedNodeConfig.Builder config = properties.toConfig();
        customizers.orderedStream().forEach(customizer -> customizer.customize(config));
        return EmbeddedNode.start(config.build());
    }

    @Bean(destroyMethod = "close")
    Lite lite(EmbeddedNode node, LiteEmbeddedProperties properties, Environment environment) {
        return node.attach(principal(properties.principal(), environment));
    }

    private static String principal(@Nullable String configured, Environment environment) {
        if (StringUtils.hasText(configured)) {
            return configured;
        }
        String name = environment.getProperty("spring.application.name");
        return StringUtils.hasText(name) ? name : "application";
    }
}

package dev.lite.embedded;

import dev.lite.api.Lite;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/** Starts a node in the application, and a session with it. The starter's other beans use that session. */
@AutoConfiguration(beforeName = "dev.lite.boot.LiteClientAutoConfiguration")
@ConditionalOnBooleanProperty(name = "lite.embedded.enabled", matchIfMissing = true)
@ConditionalOnMissingBean(Lite.class)
@EnableConfigurationProperties(LiteEmbeddedProperties.class)
public final class LiteEmbeddedAutoConfiguration {

    @Bean(destroyMethod = "close")
    EmbeddedNode liteEmbeddedNode(
            LiteEmbeddedProperties properties, ObjectProvider<EmbeddedNodeCustomizer> customizers) {
        EmbeddedNodeConfig.Builder config = properties.toConfig();
        customizers.orderedStream().forEach(customizer -> customizer.customize(config));
        return EmbeddedNode.start(config.build());
    }

    @Bean(destroyMethod = "close")
    Lite lite(EmbeddedNode node, LiteEmbeddedProperties properties, Environment environment) {
        String principal = properties.principal();
        return node.attach(
                principal != null ? principal : environment.getProperty("spring.application.name", "application"));
    }
}

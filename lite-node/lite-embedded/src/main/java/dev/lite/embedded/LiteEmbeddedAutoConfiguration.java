package dev.lite.embedded;

import dev.lite.api.Lite;
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
    EmbeddedNode liteEmbeddedNode(LiteEmbeddedProperties properties) {
        return EmbeddedNode.start(properties.toConfig());
    }

    @Bean(destroyMethod = "close")
    Lite lite(EmbeddedNode node, LiteEmbeddedProperties properties, Environment environment) {
        String principal = properties.principal();
        return node.attach(
                principal != null ? principal : environment.getProperty("spring.application.name", "application"));
    }
}

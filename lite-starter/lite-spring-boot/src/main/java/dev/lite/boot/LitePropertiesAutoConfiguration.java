package dev.lite.boot;

import dev.lite.api.Lite;
import dev.lite.api.internal.PropertyNames;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;

/**
 * Checks the properties that Spring Boot's binding does not check: a switch that is neither true nor false ends the start, and a
 * misspelt name is logged. The name may also be one of the application's own, so it does not end the start.
 */
@AutoConfiguration
@ConditionalOnClass(Lite.class)
public final class LitePropertiesAutoConfiguration {
    private static final Log log = LogFactory.getLog(LitePropertiesAutoConfiguration.class);

    @Bean
    static BeanFactoryPostProcessor litePropertiesCheck(ConfigurableEnvironment environment) {
        return beans -> {
            // Spring's condition takes all texts but "true" for "false".
            checkSwitch("lite.client.enabled", environment);
            checkSwitch("lite.embedded.enabled", environment);
            checkNames(environment);
        };
    }

    private static void checkSwitch(String property, ConfigurableEnvironment environment) {
        String value = environment.getProperty(property);
        if (value != null && !value.equalsIgnoreCase("true") && !value.equalsIgnoreCase("false")) {
            throw new InvalidConfigurationPropertyValueException(property, value, "It must be true or false.");
        }
    }

    private static void checkNames(ConfigurableEnvironment environment) {
        Set<String> properties = new LinkedHashSet<>();
        Set<String> variables = new LinkedHashSet<>();
        for (PropertySource<?> source : environment.getPropertySources()) {
            // System properties may belong to any code of this JVM.
            if (source instanceof EnumerablePropertySource<?> listed
                    && !source.getName().equals(StandardEnvironment.SYSTEM_PROPERTIES_PROPERTY_SOURCE_NAME)) {
                boolean isEnvironment =
                        source.getName().equals(StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME);
                (isEnvironment ? variables : properties).addAll(List.of(listed.getPropertyNames()));
            }
        }
        // Most applications set no property, and need not read the metadata.
        if (PropertyNames.areAny(properties, variables)) {
            PropertyNames.of(LitePropertiesAutoConfiguration.class.getClassLoader())
                    .problem(properties, variables)
                    .ifPresent(log::warn);
        }
    }
}

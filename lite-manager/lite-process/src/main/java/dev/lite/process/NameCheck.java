package dev.lite.process;

import dev.lite.api.internal.PropertyNames;
import dev.lite.cluster.process.StartException;
import dev.lite.cluster.process.Trust;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.Ordered;
import org.springframework.core.PriorityOrdered;
import org.springframework.core.env.CommandLinePropertySource;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;

/**
 * Ends the start of a node or a manager if a property's name is misspelt. Runs before any other bean exists.
 */
public final class NameCheck implements BeanFactoryPostProcessor, PriorityOrdered {
    /** For Spring. */
    public NameCheck() {}

    @Override
    public void postProcessBeanFactory(ConfigurableListableBeanFactory beans) {
        Set<String> properties = new LinkedHashSet<>();
        Set<String> variables = new LinkedHashSet<>();
        for (PropertySource<?> source :
                beans.getBean(ConfigurableEnvironment.class).getPropertySources()) {
            // System properties may belong to any code of this JVM.
            if (source instanceof EnumerablePropertySource<?> listed
                    && !source.getName().equals(StandardEnvironment.SYSTEM_PROPERTIES_PROPERTY_SOURCE_NAME)) {
                boolean isEnvironment =
                        source.getName().equals(StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME);
                if (source instanceof CommandLinePropertySource) {
                    Trust.checkCommandLine(List.of(listed.getPropertyNames()));
                }
                (isEnvironment ? variables : properties).addAll(List.of(listed.getPropertyNames()));
            }
        }
        PropertyNames.ofProcess(getClass().getClassLoader())
                .problem(properties, variables)
                .ifPresent(problem -> {
                    throw new StartException(problem, "Correct the name, or remove it.", null);
                });
    }

    @Override
    public int getOrder() {
        return Ordered.HIGHEST_PRECEDENCE;
    }
}

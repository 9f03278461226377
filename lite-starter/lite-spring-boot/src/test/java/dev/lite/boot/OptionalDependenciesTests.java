package dev.lite.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.LtMemory;
import dev.lite.api.LtSync;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.util.ClassUtils;

/** An application with every auto-configuration, without one of the libraries that it may lack. */
class OptionalDependenciesTests {

    /** Boot's own auto-configurations are not tested here: they load classes of what is missing. */
    private static AutoConfigurations own() {
        return AutoConfigurations.of(
                ImportCandidates.load(AutoConfiguration.class, OptionalDependenciesTests.class.getClassLoader())
                        .getCandidates()
                        .stream()
                        .filter(name -> name.startsWith("dev.lite."))
                        .map(name -> ClassUtils.resolveClassName(name, null))
                        .toArray(Class<?>[]::new));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "org.springframework.boot.health",
                "org.springframework.boot.actuate",
                "io.micrometer",
                "io.github.resilience4j",
                "tools.jackson",
                "com.fasterxml.jackson",
                "org.aspectj"
            })
    void theStarterWorksWithout(String packageName) {
        new ApplicationContextRunner()
                .withConfiguration(own())
                .withClassLoader(new FilteredClassLoader(packageName))
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .hasSingleBean(Lite.class)
                        .hasSingleBean(LtMemory.class)
                        .hasSingleBean(LtSync.class)
                        .hasSingleBean(LtRpcTemplate.class)
                        .hasBean("liteRegions")
                        .hasBean("liteLockPostProcessor"));
    }
}

package dev.lite.test;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.TestContextAnnotationUtils;
import org.springframework.util.unit.DataSize;

/** Finds {@link LiteTest} on a test class, its superclasses and its enclosing classes. */
final class LiteTestContextCustomizerFactory implements ContextCustomizerFactory {

    @Override
    public @Nullable ContextCustomizer createContextCustomizer(
            Class<?> testClass, List<ContextConfigurationAttributes> attributes) {
        LiteTest annotation = TestContextAnnotationUtils.findMergedAnnotation(testClass, LiteTest.class);
        return annotation == null
                ? null
                : new LiteTestContextCustomizer(
                        annotation.nodes(),
                        DataSize.parse(annotation.arenaSize()).toBytes(),
                        annotation.principal());
    }
}

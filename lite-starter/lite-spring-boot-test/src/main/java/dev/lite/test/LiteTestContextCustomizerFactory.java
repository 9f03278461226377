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
                        annotation.nodes(), bytes(testClass, annotation.arenaSize()), annotation.principal());
    }

    private static long bytes(Class<?> testClass, String arenaSize) {
        try {
            return DataSize.parse(arenaSize).toBytes();
        } catch (IllegalArgumentException e) {
            throw new IllegalStateException(
                    "@LiteTest of %s: the arenaSize \"%s\" is not a data size such as 16MB"
                            .formatted(testClass.getName(), arenaSize),
                    e);
        }
    }
}

package dev.lite.boot.client;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.annotation.AnnotatedBeanDefinition;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.annotation.ClassPathScanningCandidateComponentProvider;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.env.Environment;
import org.springframework.core.io.ResourceLoader;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.core.type.filter.AnnotationTypeFilter;
import org.springframework.util.ClassUtils;

/** Registers a bean for each interface that {@link ImportLtRpcClients} names or finds. */
final class LtRpcClientRegistrar implements ImportBeanDefinitionRegistrar {

    private final Environment environment;
    private final ResourceLoader resourceLoader;

    LtRpcClientRegistrar(Environment environment, ResourceLoader resourceLoader) {
        this.environment = environment;
        this.resourceLoader = resourceLoader;
    }

    @Override
    public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
        MergedAnnotation<ImportLtRpcClients> imported =
                importing.getAnnotations().get(ImportLtRpcClients.class);
        List<Class<?>> types = List.of(imported.getClassArray("types"));
        List<String> packages = List.of(imported.getStringArray("basePackages"));
        if (types.isEmpty() && packages.isEmpty()) {
            packages = List.of(ClassUtils.getPackageName(importing.getClassName()));
        }
        Set<Class<?>> clients = new LinkedHashSet<>(types);
        packages.forEach(one -> clients.addAll(scan(environment.resolveRequiredPlaceholders(one))));
        clients.forEach(client -> register(client, registry));
    }

    private Set<Class<?>> scan(String basePackage) {
        ClassPathScanningCandidateComponentProvider scanner =
                new ClassPathScanningCandidateComponentProvider(false, environment) {
                    @Override
                    protected boolean isCandidateComponent(AnnotatedBeanDefinition definition) {
                        return definition.getMetadata().isInterface()
                                && definition.getMetadata().isIndependent();
                    }
                };
        scanner.setResourceLoader(resourceLoader);
        scanner.addIncludeFilter(new AnnotationTypeFilter(LtRpcClient.class));
        Set<Class<?>> found = new LinkedHashSet<>();
        for (BeanDefinition candidate : scanner.findCandidateComponents(basePackage)) {
            found.add(ClassUtils.resolveClassName(
                    String.valueOf(candidate.getBeanClassName()), resourceLoader.getClassLoader()));
        }
        return found;
    }

    private static void register(Class<?> type, BeanDefinitionRegistry registry) {
        if (registry.containsBeanDefinition(type.getName())) {
            return;
        }
        RootBeanDefinition definition = new RootBeanDefinition(LtRpcClientFactoryBean.class);
        definition.setTargetType(ResolvableType.forClassWithGenerics(LtRpcClientFactoryBean.class, type));
        definition.setAttribute(FactoryBean.OBJECT_TYPE_ATTRIBUTE, type);
        definition.getConstructorArgumentValues().addIndexedArgumentValue(0, type);
        definition.setAutowireMode(AbstractBeanDefinition.AUTOWIRE_CONSTRUCTOR);
        registry.registerBeanDefinition(type.getName(), definition);
    }
}

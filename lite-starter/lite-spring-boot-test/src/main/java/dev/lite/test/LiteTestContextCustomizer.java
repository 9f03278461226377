package dev.lite.test;

import dev.lite.api.Lite;
import dev.lite.embedded.EmbeddedCluster;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.Environment;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.MergedContextConfiguration;
import org.springframework.util.StringUtils;

/**
 * Defines the cluster and the session of a test's context. Tests with equal values may share a context.
 *
 * @param nodes the number of nodes
 * @param arenaBytes the memory of each node
 * @param principal of the session; empty for the application's name
 */
record LiteTestContextCustomizer(int nodes, long arenaBytes, String principal) implements ContextCustomizer {

    private static final String CLUSTER = "liteTestCluster";

    @Override
    public void customizeContext(ConfigurableApplicationContext context, MergedContextConfiguration configuration) {
        if (!(context.getBeanFactory() instanceof BeanDefinitionRegistry registry)) {
            throw new IllegalStateException("@LiteTest needs a context that takes bean definitions, not " + context);
        }
        // The properties of all tests may switch LITE off, for those without nodes.
        TestPropertyValues.of("lite.client.enabled=true").applyTo(context);
        RootBeanDefinition cluster = new RootBeanDefinition(EmbeddedCluster.class);
        cluster.setFactoryMethodName("start");
        cluster.getConstructorArgumentValues().addIndexedArgumentValue(0, nodes);
        cluster.getConstructorArgumentValues().addIndexedArgumentValue(1, arenaBytes);
        cluster.setDestroyMethodName("close");
        registry.registerBeanDefinition(CLUSTER, cluster);

        RootBeanDefinition lite = new RootBeanDefinition();
        lite.setTargetType(Lite.class);
        lite.setFactoryBeanName(CLUSTER);
        lite.setFactoryMethodName("attach");
        lite.getConstructorArgumentValues().addIndexedArgumentValue(0, principalIn(context.getEnvironment()));
        lite.setDestroyMethodName("close");
        lite.setResourceDescription("@LiteTest"); // for the message if the application has such a bean, too
        registry.registerBeanDefinition("lite", lite);
    }

    /** As of an application with an embedded node, where a blank name is none, too. */
    private String principalIn(Environment environment) {
        if (StringUtils.hasText(principal)) {
            return principal;
        }
        String name = environment.getProperty("spring.application.name");
        return StringUtils.hasText(name) ? name : "application";
    }
}

package dev.lite.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.boot.client.ImportLtRpcClients;
import dev.lite.boot.client.LtRpcClient;
import java.lang.reflect.Proxy;
import java.util.List;
import org.aopalliance.intercept.MethodInterceptor;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.framework.ProxyFactoryBean;
import org.springframework.aop.framework.autoproxy.DefaultAdvisorAutoProxyCreator;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.NameMatchMethodPointcut;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.core.Ordered;

/** Handlers in beans behind proxies. */
class RpcHandlerProxyTests extends RpcHandlerCases {
    interface Counter<T> {
        int count(List<T> ordered);
    }

    static class OrderCounter implements Counter<Order> {
        @Override
        @LtRpcHandler("count")
        public int count(List<Order> ordered) {
            return ordered.stream().mapToInt(Order::count).sum();
        }
    }

    @Test
    void aHandlerMethodBehindAProxyOfItsGenericInterfaceReceivesTheTypeOfItsBean() {
        ProxyFactory proxies = new ProxyFactory(new OrderCounter());
        runner.withBean("counter", Counter.class, () -> (Counter<?>) proxies.getProxy())
                .run(context -> {
                    LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
                    assertThat(template.call(
                                    "node-1",
                                    "count",
                                    List.of(new Order("tea", 1), new Order("milk", 2)),
                                    Integer.class))
                            .isEqualTo(3);
                });
    }

    /** Like one of the application, or of a library, whose proxies Spring does not know. */
    static class Hiding implements BeanPostProcessor, Ordered {
        @Override
        public Object postProcessAfterInitialization(Object bean, String name) {
            return bean instanceof Greeting
                    ? Proxy.newProxyInstance(
                            bean.getClass().getClassLoader(),
                            bean.getClass().getInterfaces(),
                            (proxy, method, arguments) -> method.invoke(bean, arguments))
                    : bean;
        }

        @Override
        public int getOrder() {
            return 0;
        }
    }

    /** Else nobody would notice that the function is not served. */
    @Test
    void aBeanWhoseHandlersAnotherProxyHidesFailsTheStart() {
        runner.withBean("hidden", Greeter.class)
                .withBean(Hiding.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("@LtRpcHandler(\"greet\") ")
                        .hasMessageContaining("the bean \"hidden\" is behind the proxy "));
        assertThat(rpc.handlers).isEmpty();
    }

    interface ServedGreeting extends Greeting {
        @Override
        @LtRpcHandler("greet")
        String greet();
    }

    static class ServedGreeter implements ServedGreeting {
        @Override
        @LtRpcHandler("greet")
        public String greet() {
            return "hello";
        }
    }

    @Test
    void aHandlerBehindAnotherProxyIsServedIfAnInterfaceHasItsAnnotation() {
        runner.withBean(ServedGreeter.class)
                .withBean(Hiding.class)
                .run(context -> assertThat(
                                context.getBean(LtRpcTemplate.class).call("fake-1", "greet", null, String.class))
                        .isEqualTo("hello"));
    }

    private static Object proxyOf(Object target) {
        return new ProxyFactory(target).getProxy();
    }

    /** A {@code @Bean} method may make them itself, or one library after another. */
    @Test
    void aHandlerBehindAProxyOfSpringAroundAnotherIsServed() {
        runner.withBean("greeter", Greeting.class, () -> (Greeting) proxyOf(proxyOf(new Greeter())))
                .withBean("counter", Counter.class, () -> (Counter<?>) proxyOf(proxyOf(new OrderCounter())))
                .run(context -> {
                    LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
                    assertThat(template.call("fake-1", "greet", null, String.class))
                            .isEqualTo("hello");
                    assertThat(template.call("fake-1", "count", List.of(new Order("tea", 2)), Integer.class))
                            .isEqualTo(2);
                });
    }

    static class Unreachable implements Runnable {
        @Override
        public void run() {}

        @LtRpcHandler("unreachable")
        String unreachable() {
            return "never";
        }
    }

    @Test
    void aHandlerThatIsNotReachableThroughTheProxiesOfItsBeanFailsTheStart() {
        runner.withBean("hidden", Runnable.class, () -> (Runnable) proxyOf(proxyOf(new Unreachable())))
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("unreachable")
                        .hasMessageContaining(Unreachable.class.getSimpleName()));
        assertThat(rpc.handlers).isEmpty();
    }

    static class FinalGreeter {
        private final String text;

        FinalGreeter() {
            text = "hello";
        }

        @LtRpcHandler("greet")
        final String greet() {
            return text;
        }
    }

    /** The proxy has no fields of its own. */
    @Test
    void aFinalHandlerOfABeanWithAProxyFailsTheStart() {
        runner.withBean(FinalGreeter.class)
                .run(context -> assertThat(
                                context.getBean(LtRpcTemplate.class).call("fake-1", "greet", null, String.class))
                        .isEqualTo("hello"));
        runner.withBean(FinalGreeter.class, () -> (FinalGreeter) proxyOf(new FinalGreeter()))
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("@LtRpcHandler(\"greet\")")
                        .hasMessageEndingWith(
                                "it is final, so the proxy of its bean cannot pass a call on to the bean"));
    }

    @Configuration(proxyBeanMethods = false)
    static class FactoryConfiguration {
        @Bean
        ProxyFactoryBean greeter() {
            ProxyFactoryBean proxies = new ProxyFactoryBean();
            proxies.setTarget(new Greeter());
            return proxies;
        }

        @Bean
        @Lazy
        ProxyFactoryBean counter() {
            ProxyFactoryBean proxies = new ProxyFactoryBean();
            proxies.setTarget(new OrderCounter());
            return proxies;
        }
    }

    /** Nobody else need ask for it. */
    @Test
    void aHandlerInABeanOfAFactoryIsServed() {
        runner.withUserConfiguration(FactoryConfiguration.class).run(context -> {
            assertThat(rpc.handlers).containsOnlyKeys("greet");
            assertThat(context.getBean(LtRpcTemplate.class).call("fake-1", "greet", null, String.class))
                    .isEqualTo("hello");
            assertThat(context.getBean("counter")).isInstanceOf(Counter.class);
            assertThat(rpc.handlers).containsOnlyKeys("greet", "count");
        });
    }

    @Configuration(proxyBeanMethods = false)
    static class ScopedConfiguration {
        @Bean
        @Scope(value = "prototype", proxyMode = ScopedProxyMode.TARGET_CLASS)
        Greeter greeter() {
            return new Greeter();
        }
    }

    /** Each call would fail when it asks for the bean. */
    @Test
    void aHandlerInABeanWithAScopedProxyFailsTheStart() {
        runner.withUserConfiguration(ScopedConfiguration.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("@LtRpcHandler(\"greet\")")
                        .hasMessageEndingWith(
                                "the bean \"greeter\" has the scope \"prototype\"; it must be a singleton"));
        assertThat(rpc.handlers).isEmpty();
    }

    /** Needs another bean, which needs it. */
    static class Partner {
        @Autowired
        @Nullable
        Other other;

        @LtRpcHandler("meet")
        String meet() {
            return "hello";
        }
    }

    static class Other {
        @Autowired
        @Nullable
        Partner partner;
    }

    @Configuration(proxyBeanMethods = false)
    static class CircleConfiguration {
        @Bean
        static DefaultAdvisorAutoProxyCreator proxies() {
            return new DefaultAdvisorAutoProxyCreator();
        }

        @Bean
        static DefaultPointcutAdvisor loud() {
            NameMatchMethodPointcut meet = new NameMatchMethodPointcut();
            meet.addMethodName("meet");
            return new DefaultPointcutAdvisor(meet, (MethodInterceptor) call -> call.proceed() + "!");
        }

        @Bean
        Partner partner() {
            return new Partner();
        }

        @Bean
        Other other() {
            return new Other();
        }
    }

    /** The other bean gets the proxy before the bean is initialized. Such proxies begin transactions and check permissions. */
    @Test
    void aHandlerInABeanOfACircleIsCalledThroughItsProxy() {
        runner.withAllowCircularReferences(true)
                .withUserConfiguration(CircleConfiguration.class)
                .run(context -> {
                    assertThat(context.getBean(Partner.class).meet()).isEqualTo("hello!");
                    assertThat(context.getBean(LtRpcTemplate.class).call("fake-1", "meet", null, String.class))
                            .isEqualTo("hello!");
                });
    }

    @LtRpcClient(prefix = "client/")
    interface GreetingClient extends ServedGreeting {}

    @Configuration(proxyBeanMethods = false)
    @ImportLtRpcClients(GreetingClient.class)
    static class ClientConfiguration {}

    /** It would call itself. */
    @Test
    void aClientOfAnInterfaceThatHasTheHandlersAnnotationDoesNotServeIt() {
        runner.withUserConfiguration(ClientConfiguration.class).run(context -> {
            assertThat(context.getBean(GreetingClient.class)).isNotNull();
            assertThat(rpc.handlers).isEmpty();
        });
    }
}

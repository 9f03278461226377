package dev.lite.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.RpcCall;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcHandlerException;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import dev.lite.boot.client.ImportLtRpcClients;
import dev.lite.boot.client.LtRpcClient;
import dev.lite.client.fake.FakeRpc;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.SubmissionPublisher;
import java.util.stream.Stream;
import kotlin.coroutines.Continuation;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.framework.ProxyFactoryBean;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.context.ConfigurationPropertiesAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.core.Ordered;
import org.springframework.core.ParameterizedTypeReference;
import org.springframework.http.HttpEntity;
import org.springframework.scheduling.annotation.Async;
import org.springframework.web.context.request.async.DeferredResult;
import org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody;

class LiteRpcAutoConfigurationTests {

    private final FakeRpc rpc = new FakeRpc();
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    ConfigurationPropertiesAutoConfiguration.class,
                    LiteClientAutoConfiguration.class,
                    LiteRpcAutoConfiguration.class))
            .withBean("fakeRpc", FakeRpc.class, () -> rpc);

    record Order(String article, int count) {}

    record Receipt(String article, long cents, String customer) {}

    static class Shop {
        @LtRpcHandler(value = "order", concurrency = 3)
        Receipt order(Order order, RpcCall call) {
            if (order.count() < 1) {
                throw new RpcHandlerException(1, "count is %d; it must be at least 1".formatted(order.count()));
            }
            if (order.article().isEmpty()) {
                throw new IllegalStateException("not for the caller");
            }
            return new Receipt(order.article(), 250L * order.count(), call.callerPrincipal());
        }

        @LtRpcHandler("shout")
        String shout(String text) {
            return text.toUpperCase(java.util.Locale.ROOT);
        }

        @LtRpcHandler("split")
        List<Order> split(Order order) {
            return Collections.nCopies(order.count(), new Order(order.article(), 1));
        }

        @LtRpcHandler("swap")
        byte[] swap(byte[] bytes) {
            return new byte[] {bytes[1], bytes[0]};
        }

        @LtRpcHandler("forget")
        void forget() {}
    }

    @Configuration(proxyBeanMethods = false)
    static class ShopConfiguration {
        @Bean
        Shop shop() {
            return new Shop();
        }
    }

    record Unreadable(int count) {
        @Override
        public int count() {
            throw new IllegalStateException("no count");
        }
    }

    @Test
    void aRequestThatCannotBeConvertedIsAnIllegalArgument() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            for (ThrowingCallable call : List.<ThrowingCallable>of(
                    () -> template.call("node-1", "order", new Unreadable(1), Receipt.class),
                    () -> template.callAsync("node-1", "order", new Unreadable(1), Receipt.class))) {
                assertThatThrownBy(call)
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("Unreadable")
                        .hasMessageContaining("no count");
            }
        });
    }

    /** As of a context that is paused and resumed, for example between tests. The former thread runs only when all is done. */
    @Test
    void aRestartThatIsFasterThanTheThreadOfTheApplicationLeavesNoThread() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            RpcHandlerRegistrar registrar = context.getBean(RpcHandlerRegistrar.class);
            Thread former = Objects.requireNonNull(registrar.keepAlive());
            Waits.until("it waits for the end", () -> former.getState() == Thread.State.WAITING);
            synchronized (registrar) {
                registrar.stop();
                registrar.start();
            }
            Waits.join(former);
            assertThat(registrar.keepAlive()).isNotNull().isNotSameAs(former);
        });
    }

    @Test
    void anApplicationThatOnlyServesFunctionsKeepsRunningUntilItsContextEnds() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            Thread keepAlive = context.getBean(RpcHandlerRegistrar.class).keepAlive();
            assertThat(keepAlive).isNotNull();
            assertThat(keepAlive.isDaemon()).isFalse();
            context.close();
            Waits.join(keepAlive);
        });
        runner.run(
                context -> assertThat(context.getBean(RpcHandlerRegistrar.class).keepAlive())
                        .as("without a handler")
                        .isNull());
    }

    static class Slow implements DisposableBean {
        private final CountDownLatch begun = new CountDownLatch(1);
        private final CountDownLatch mayEnd = new CountDownLatch(1);
        private volatile boolean destroyed;

        @LtRpcHandler("slow")
        String slow() {
            begun.countDown();
            Waits.until("it may end", () -> mayEnd.getCount() == 0);
            return destroyed ? "destroyed" : "whole";
        }

        @Override
        public void destroy() {
            destroyed = true;
        }
    }

    @Test
    void theBeansOfHandlersAreDestroyedAfterTheCallsUnderWay() {
        runner.withBean(Slow.class).run(context -> {
            Slow slow = context.getBean(Slow.class);
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            CompletableFuture<@Nullable String> reply = CompletableFuture.supplyAsync(
                    () -> template.call("fake-1", "slow", null, String.class), Thread::startVirtualThread);
            Waits.until("the call has begun", () -> slow.begun.getCount() == 0);
            Thread closing = Thread.ofVirtual().start(context::close);
            Waits.until("the function is closed", rpc.handlers::isEmpty);
            Waits.pass(Duration.ofMillis(200)); // enough to destroy a bean
            assertThat(closing.isAlive()).isTrue();
            slow.mayEnd.countDown();
            assertThat(reply).succeedsWithin(Waits.seconds(20)).isEqualTo("whole");
            Waits.join(closing);
            assertThat(slow.destroyed).isTrue();
        });
    }

    /** The others would be served while their beans are destroyed. */
    @Test
    void aFunctionThatCannotBeClosedDoesNotKeepTheOthersServed() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            assertThat(rpc.handlers).hasSize(5);
            rpc.closeRefusals.set(1);
            context.close();
            assertThat(rpc.handlers).hasSize(1);
        });
    }

    /** A node that hangs keeps each close for the session's deadline; one after the other, the stop would be killed. */
    @Test
    void theFunctionsAreClosedAtTheSameTime() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            CountDownLatch closing = new CountDownLatch(rpc.handlers.size());
            rpc.whenClosing = () -> {
                closing.countDown();
                Waits.await(closing);
            };
            context.getBean(RpcHandlerRegistrar.class).stop();
            assertThat(rpc.handlers).isEmpty();
        });
    }

    /** Each would wait for a node that hangs, and the start would fail only then. */
    @Test
    void afterAFailedRegistrationTheOtherFunctionsAreClosedAtTheSameTime() {
        CountDownLatch closing = new CountDownLatch(4);
        rpc.whenRegistering = () -> rpc.refusals.set(rpc.handlers.size() == 4 ? 1 : 0);
        rpc.whenClosing = () -> {
            closing.countDown();
            Waits.await(closing);
        };
        runner.withUserConfiguration(ShopConfiguration.class)
                .run(context -> assertThat(context).getFailure().hasStackTraceContaining("the node is busy"));
        assertThat(rpc.handlers).isEmpty();
    }

    @Test
    void anErrorInARegistrationLeavesNoOtherFunctionServed() {
        rpc.whenRegistering = () -> {
            if (rpc.handlers.size() == 4) {
                rpc.errors.add(new NoClassDefFoundError("shop/Missing, which the test expects"));
            }
        };
        runner.withUserConfiguration(ShopConfiguration.class)
                .run(context -> assertThat(context).getFailure().hasStackTraceContaining("shop/Missing"));
        assertThat(rpc.handlers).isEmpty();
    }

    /** As one that comes through a channel while its function ends. */
    @Test
    void aCallThatBeginsAfterTheLastOneHasEndedIsDeclined() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            RpcHandler shout = Objects.requireNonNull(rpc.handlers.get("shout"));
            context.close();
            RpcServer unused = rpc.register("shout", 1, shout);
            assertThatThrownBy(() -> template.call("fake-1", "shout", "late", String.class))
                    .isInstanceOfSatisfying(
                            RpcFailedException.class,
                            e -> assertThat(e.status()).isEqualTo(RpcStatus.NOT_SERVED))
                    .hasMessage("the application that serves \"shout\" ends");
        });
    }

    @Test
    void aHandlerMethodReceivesAndReturnsRecords() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            assertThat(template.call("fake-1", "order", new Order("tea", 4), Receipt.class))
                    .isEqualTo(new Receipt("tea", 1000, "shop"));
            assertThat(rpc.concurrencies).containsEntry("order", 3).containsEntry("shout", 16);
        });
    }

    interface Counter<T> {
        int count(List<T> ordered);
    }

    abstract static class Articles<T> {
        abstract String article(T ordered);

        @LtRpcHandler("article")
        String articleOf(T ordered) {
            return article(ordered);
        }
    }

    static class OrderedArticles extends Articles<Order> {
        @Override
        String article(Order ordered) {
            return ordered.article();
        }
    }

    static class OrderCounter implements Counter<Order> {
        @Override
        @LtRpcHandler("count")
        public int count(List<Order> ordered) {
            return ordered.stream().mapToInt(Order::count).sum();
        }
    }

    @Test
    void aHandlerMethodOfAGenericClassReceivesTheTypeOfItsBean() {
        runner.withBean(OrderedArticles.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            assertThat(template.call("node-1", "article", new Order("tea", 1), String.class))
                    .isEqualTo("tea");
        });
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

    interface Greeting {
        String greet();
    }

    static class Greeter implements Greeting {
        @Override
        @LtRpcHandler("greet")
        public String greet() {
            return "hello";
        }
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

    static class Configured {
        @LtRpcHandler("${shop.name}/name")
        String name() {
            return "acme";
        }
    }

    @Test
    void theNameOfAFunctionMayHavePlaceholders() {
        runner.withBean(Configured.class)
                .withPropertyValues("shop.name=acme")
                .run(context -> assertThat(rpc.handlers).containsOnlyKeys("acme/name"));
        runner.withBean(Configured.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("Could not resolve placeholder 'shop.name'"));
        assertThat(rpc.handlers).isEmpty();
    }

    static class OtherGreeter {
        @LtRpcHandler("greet")
        String welcome() {
            return "welcome";
        }
    }

    /** Each call would go to any of them. */
    @Test
    void twoHandlersOfOneFunctionFailTheStart() {
        runner.withBean(Greeter.class)
                .withBean(OtherGreeter.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("@LtRpcHandler(\"greet\") ")
                        .hasMessageContaining("OtherGreeter.welcome()")
                        .hasMessageContaining("Greeter.greet() serves the function, too"));
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

    @Test
    void bytesAndTextArePassedUnchanged() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            assertThat(template.call("fake-1", "shout", "grüß", String.class)).isEqualTo("GRÜSS");
            assertThat(template.call("fake-1", "swap", new byte[] {1, 2}, byte[].class))
                    .containsExactly(2, 1);
            assertThat(template.call("fake-1", "forget", null, Void.class)).isNull();
        });
    }

    @Test
    void aReplyMayHaveAGenericType() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            assertThat(template.call(
                            "fake-1", "split", new Order("tea", 2), new ParameterizedTypeReference<List<Order>>() {}))
                    .containsExactly(new Order("tea", 1), new Order("tea", 1));
            assertThat(template.callAsync(
                            "fake-1", "split", new Order("tea", 1), new ParameterizedTypeReference<List<Order>>() {}))
                    .succeedsWithin(Waits.seconds(20))
                    .isEqualTo(List.of(new Order("tea", 1)));
        });
    }

    @Test
    void anEmptyReplyIsNoObjectAndTheMessageSaysWhereItComesFrom() {
        runner.withUserConfiguration(ShopConfiguration.class)
                .run(context -> assertThatThrownBy(() ->
                                context.getBean(LtRpcTemplate.class).call("fake-1", "forget", null, Receipt.class))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContainingAll(
                                Receipt.class.getName(),
                                "0 bytes, which void and null send",
                                "Optional can be missing"));
    }

    @Test
    void anAsynchronousCallCompletesWithTheReplyOrTheException() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            assertThat(template.callAsync("fake-1", "order", new Order("tea", 4), Receipt.class))
                    .succeedsWithin(Waits.seconds(20))
                    .isEqualTo(new Receipt("tea", 1000, "shop"));
            assertThat(template.callAsync("fake-1", "forget", null, Void.class))
                    .succeedsWithin(Waits.seconds(20))
                    .isNull();
            assertThat(template.callAsync("fake-1", "order", new Order("tea", 0), Receipt.class))
                    .failsWithin(Waits.seconds(20))
                    .withThrowableOfType(ExecutionException.class)
                    .withCauseInstanceOf(RpcFailedException.class)
                    .withMessageContaining("count is 0; it must be at least 1");
            assertThat(template.callAsync("fake-1", "shout", "no json", Receipt.class))
                    .failsWithin(Waits.seconds(20))
                    .withThrowableOfType(ExecutionException.class)
                    .withCauseInstanceOf(IllegalArgumentException.class)
                    .withMessageContaining("7 bytes cannot be read as");
        });
    }

    @Test
    void aCallHasTheConfiguredDeadlineOrItsOwn() {
        runner.withUserConfiguration(ShopConfiguration.class)
                .withPropertyValues("lite.client.deadline=3s")
                .run(context -> {
                    LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
                    assertThat(template.deadline()).isEqualTo(Duration.ofSeconds(3));
                    assertThat(template.call("fake-1", "shout", "a", String.class))
                            .isEqualTo("A");
                    assertThat(rpc.lastDeadline()).isEqualTo(Duration.ofSeconds(3));
                    assertThat(template.call("fake-1", "shout", "a", String.class, Duration.ofSeconds(1)))
                            .isEqualTo("A");
                    assertThat(rpc.lastDeadline()).isEqualTo(Duration.ofSeconds(1));
                    assertThat(template.callAsync("fake-1", "shout", "a", String.class, Duration.ofSeconds(2)))
                            .succeedsWithin(Waits.seconds(20));
                    assertThat(rpc.lastDeadline()).isEqualTo(Duration.ofSeconds(2));
                });
    }

    @Test
    void anApplicationsOwnLtRpcNeedsNoAutoConfiguredSession() {
        runner.withPropertyValues("lite.client.enabled=false")
                .run(context -> assertThat(context).hasNotFailed().hasSingleBean(LtRpcTemplate.class));
    }

    @Test
    void onlyAnExceptionForTheCallerReachesTheCaller() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            assertThatThrownBy(() -> template.call("fake-1", "order", new Order("tea", 0), Receipt.class))
                    .isInstanceOfSatisfying(
                            RpcFailedException.class,
                            e -> assertThat(e.handlerCode()).isEqualTo(1))
                    .hasMessage("count is 0; it must be at least 1");
            assertThatThrownBy(() -> template.call("fake-1", "order", new Order("", 1), Receipt.class))
                    .isInstanceOfSatisfying(
                            RpcFailedException.class,
                            e -> assertThat(e.status()).isEqualTo(RpcStatus.HANDLER_FAILED))
                    .hasMessage("the handler failed; the log of its application has the cause");
            assertThatThrownBy(() -> template.call("fake-1", "order", "no json", Receipt.class))
                    .isInstanceOf(RpcFailedException.class)
                    .hasMessage("the request of 7 bytes cannot be converted for the handler");
        });
    }

    @Test
    void theFunctionsEndWithTheContext() {
        runner.withUserConfiguration(ShopConfiguration.class)
                .run(context -> assertThat(rpc.handlers).containsOnlyKeys("order", "shout", "split", "swap", "forget"));
        assertThat(rpc.handlers).isEmpty();
    }

    @Test
    void withoutJacksonOnlyObjectsAreRefused() {
        ApplicationContextRunner bare =
                runner.withClassLoader(new FilteredClassLoader("tools.jackson.databind", "tools.jackson.core"));
        bare.run(context -> assertThat(context).hasNotFailed().hasSingleBean(LtRpcTemplate.class));
        bare.withUserConfiguration(ShopConfiguration.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("@LtRpcHandler(")
                        .hasMessageContaining("Jackson is missing"));
        assertThat(rpc.handlers).isEmpty();
    }

    @Test
    void anInvalidHandlerMethodIsReportedAtTheStart() {
        runner.withBean("odd", Odd.class, Odd::new)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("@LtRpcHandler(\"odd\")")
                        .hasMessageContaining("more parameters than a request and an RpcCall"));
    }

    static class Odd {
        @LtRpcHandler("odd")
        @Nullable
        String odd(String one, String two) {
            return one + two;
        }
    }

    @Test
    void handlersAreServedAlsoWithLazyInitialization() {
        runner.withInitializer(context ->
                        context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
                .withUserConfiguration(ShopConfiguration.class, OtherConfiguration.class)
                .run(context -> {
                    assertThat(rpc.handlers).containsOnlyKeys("order", "shout", "split", "swap", "forget");
                    assertThat(context.getBeanFactory().containsSingleton("other"))
                            .as("a bean without handlers is created")
                            .isFalse();
                });
    }

    @Configuration(proxyBeanMethods = false)
    static class OtherConfiguration {
        @Bean
        StringBuilder other() {
            return new StringBuilder();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class LaterConfiguration {
        @Bean
        @Lazy
        Shop shop() {
            return new Shop();
        }

        @Bean
        @Lazy
        Half half() {
            return new Half();
        }

        @Bean
        @Scope("prototype")
        Slow slow() {
            return new Slow();
        }
    }

    static class Half {
        @LtRpcHandler("half")
        String half() {
            return "served";
        }

        @LtRpcHandler(value = "other half", concurrency = 0)
        String otherHalf() {
            return "served";
        }
    }

    @Test
    void aBeanThatIsCreatedWhileTheContextRunsIsServedFromThenOn() {
        runner.withUserConfiguration(LaterConfiguration.class).run(context -> {
            RpcHandlerRegistrar registrar = context.getBean(RpcHandlerRegistrar.class);
            assertThat(rpc.handlers).isEmpty();
            assertThat(registrar.keepAlive()).isNull();
            context.getBean(Shop.class);
            assertThat(context.getBean(LtRpcTemplate.class).call("fake-1", "shout", "late", String.class))
                    .isEqualTo("LATE");
            assertThat(registrar.keepAlive()).isNotNull();
            registrar.stop();
            assertThat(rpc.handlers).isEmpty();
            registrar.start();
            assertThat(rpc.handlers).hasSize(5);
            context.close();
            assertThat(rpc.handlers).isEmpty();
        });
    }

    @Test
    void aBeanWithAnInvalidHandlerThatIsCreatedLaterIsNotServedAtAll() {
        runner.withUserConfiguration(LaterConfiguration.class).run(context -> {
            assertThatThrownBy(() -> context.getBean(Half.class))
                    .rootCause()
                    .hasMessageContaining("its concurrency is 0, less than 1");
            assertThat(rpc.handlers).isEmpty();
            context.getBean(Shop.class);
            assertThat(rpc.handlers).hasSize(5);
        });
    }

    @Test
    void aHandlerInABeanThatIsNoSingletonIsRefused() {
        runner.withUserConfiguration(LaterConfiguration.class).run(context -> {
            assertThatThrownBy(() -> context.getBean(Slow.class))
                    .rootCause()
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("@LtRpcHandler(\"slow\")")
                    .hasMessageEndingWith("the bean \"slow\" has the scope \"prototype\"; it must be a singleton");
            assertThat(rpc.handlers).isEmpty();
        });
    }

    /** A prototype may be created for each request. */
    @Test
    void aClassWithoutHandlersIsScannedOnce() {
        runner.withUserConfiguration(ShopConfiguration.class)
                .withBean(StringBuilder.class)
                .run(context -> {
                    Set<?> known =
                            Inside.field(context.getBean(RpcHandlerRegistrar.class), "withoutHandlers", Set.class);
                    assertThat(known.contains(StringBuilder.class)).isTrue();
                    assertThat(known.contains(Shop.class)).isFalse();
                });
    }

    /** The future itself would be the reply. */
    @ParameterizedTest
    @MethodSource("deferred")
    void aHandlerMethodWhoseReplyComesLaterIsReportedAtTheStart(Object bean, Class<?> returned) {
        runner.withBean("deferred", Object.class, () -> bean)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("@LtRpcHandler(\"later\")")
                        .hasMessageEndingWith("it returns %s; a handler may block, and returns the reply itself"
                                .formatted(returned.getName())));
        assertThat(rpc.handlers).isEmpty();
    }

    static Stream<Arguments> deferred() {
        return Stream.of(
                Arguments.of(new WithFuture(), CompletableFuture.class),
                Arguments.of(new WithStage(), CompletionStage.class),
                Arguments.of(new WithPublisher(), Flow.Publisher.class),
                Arguments.of(new WithCallable(), Callable.class),
                Arguments.of(new WithDeferredResult(), DeferredResult.class),
                Arguments.of(new WithFutureOfParent(), CompletableFuture.class));
    }

    static class Parent<T> {
        @LtRpcHandler("later")
        @Nullable
        T later() {
            return null;
        }
    }

    static class WithFutureOfParent extends Parent<CompletableFuture<String>> {}

    static class WithFuture {
        @LtRpcHandler("later")
        CompletableFuture<String> later() {
            return CompletableFuture.completedFuture("reply");
        }
    }

    static class WithStage {
        @LtRpcHandler("later")
        CompletionStage<String> later() {
            return CompletableFuture.completedStage("reply");
        }
    }

    static class WithPublisher {
        @LtRpcHandler("later")
        Flow.Publisher<String> later() {
            return new SubmissionPublisher<>();
        }
    }

    static class WithCallable {
        @LtRpcHandler("later")
        Callable<String> later() {
            return () -> "reply";
        }
    }

    static class WithDeferredResult {
        @LtRpcHandler("later")
        DeferredResult<String> later() {
            return new DeferredResult<>();
        }
    }

    /** Their types do not show what they return. */
    static class HiddenResults {
        @LtRpcHandler("stream")
        HttpEntity<?> stream() {
            return new HttpEntity<StreamingResponseBody>(new StreamingResponseBody() {});
        }

        @LtRpcHandler("call")
        HttpEntity<Object> call() {
            return new HttpEntity<>((Callable<String>) () -> "reply");
        }

        @LtRpcHandler("defer")
        HttpEntity<?> defer() {
            return new HttpEntity<>(new DeferredResult<String>());
        }

        @LtRpcHandler("publish")
        Object publish() {
            return new SubmissionPublisher<String>();
        }

        @LtRpcHandler("text")
        HttpEntity<?> text() {
            return new HttpEntity<>("reply");
        }
    }

    /** Its JSON would be the reply. */
    @ParameterizedTest
    @CsvSource({"stream, HttpEntity<", "call, HttpEntity<", "defer, HttpEntity<", "publish, SubmissionPublisher;"})
    void aReplyThatWouldComeLaterFailsTheCallAndTheLogSaysWhy(String function, String returned) {
        runner.withBean(HiddenResults.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            assertThatThrownBy(() -> template.call("fake-1", function, null, String.class))
                    .isInstanceOf(RpcFailedException.class)
                    .hasMessage("the handler failed; the log of its application has the cause");
            assertThat(rpc.handlerFailures)
                    .singleElement(InstanceOfAssertFactories.THROWABLE)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageStartingWith("@LtRpcHandler(\"%s\") ".formatted(function))
                    .hasMessageContaining(returned)
                    .hasMessageEndingWith("; a handler may block, and returns the reply itself");
            assertThat(template.call("fake-1", "text", null, String.class)).isEqualTo("{\"body\":\"reply\"}");
        });
    }

    /** The caller would have its reply at once. */
    @ParameterizedTest
    @ValueSource(classes = {AsyncMethod.class, AsyncClass.class})
    void aHandlerMethodThatIsAsyncIsReportedAtTheStart(Class<?> bean) {
        runner.withBean(bean)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("@LtRpcHandler(\"later\")")
                        .hasMessageEndingWith(
                                "it is @Async, and its caller would have the reply before its body has run"));
        assertThat(rpc.handlers).isEmpty();
    }

    @Test
    void aHandlerThatIsASuspendFunctionOfKotlinIsReportedAtTheStart() {
        runner.withBean(Suspending.class)
                .run(
                        context -> assertThat(context)
                                .getFailure()
                                .rootCause()
                                .hasMessageContaining("@LtRpcHandler(\"later\")")
                                .hasMessageEndingWith(
                                        "it is a suspend function, and its caller would have the reply at its first suspension"));
        assertThat(rpc.handlers).isEmpty();
    }

    /** As Kotlin compiles such a function. */
    static class Suspending {
        @LtRpcHandler("later")
        @Nullable
        Object later(Continuation<? super String> continuation) {
            return null;
        }
    }

    static class AsyncMethod {
        @Async
        @LtRpcHandler("later")
        void later() {}
    }

    @Async
    static class AsyncClass {
        @LtRpcHandler("later")
        void later() {}
    }

    @Test
    void backsOffWithoutLtRpc() {
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(LiteRpcAutoConfiguration.class))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LtRpcTemplate.class));
    }
}

package dev.lite.boot.lock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtSync;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.client.fake.FakeLite;
import dev.lite.client.fake.FakeSync;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.target.HotSwappableTargetSource;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.NoUniqueBeanDefinitionException;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;

/** Methods that run under their locks. */
class LiteLockTests {
    private final LockFixture locks = new LockFixture();
    private final FakeSync sync = locks.sync;
    private final ApplicationContextRunner runner = locks.runner;

    static class Stock {
        private final FakeSync sync;
        private final String tenant = "north";

        Stock(FakeSync sync) {
            this.sync = sync;
        }

        public String getTenant() {
            return tenant;
        }

        @LiteLock("stock")
        List<String> held() {
            return List.copyOf(sync.held);
        }

        @LiteLock("${shop.name}/#{tenant}/#{#article}")
        List<String> heldFor(@Nullable String article) {
            return List.copyOf(sync.held);
        }

        @LiteLock(value = "stock", deadline = "${shop.wait}")
        void fail() {
            throw new UnsupportedOperationException(String.join(",", sync.held));
        }

        @LiteLock("stock")
        String currentName() {
            return LiteLocks.current().name();
        }

        @LiteLock("outer")
        <T> T run(Supplier<T> inner) {
            return inner.get();
        }

        void unlocked() {
            LiteLocks.current().close();
        }
    }

    private ApplicationContextRunner withStock() {
        return runner.withBean(Stock.class, () -> new Stock(sync));
    }

    @Test
    void aMethodRunsUnderItsLock() {
        withStock().run(context -> {
            assertThat(context.getBean(Stock.class).held()).containsExactly("stock");
            assertThat(sync.held).isEmpty();
            assertThat(sync.lastDeadline()).isEqualTo(Duration.ofSeconds(7));
        });
    }

    /** To open it costs a request to the node, which has not the method's deadline. */
    @Test
    void aLockIsOpenedAtItsFirstUseOnly() {
        withStock().run(context -> {
            Stock stock = context.getBean(Stock.class);
            for (int i = 0; i < 3; i++) {
                assertThat(stock.held()).containsExactly("stock");
                assertThat(stock.heldFor("tea")).containsExactly("acme/north/tea");
            }
            assertThat(sync.opened).containsExactly("stock", "acme/north/tea");
        });
    }

    record Diary(List<String> held) {}

    record Worker(Stock stock, Diary diary) implements DisposableBean {
        @Override
        public void destroy() {
            diary.held().addAll(stock.held()); // like the last task of a pool
        }
    }

    /** Nothing injects the session into them. */
    @Test
    void theSessionOutlivesTheBeansWithLockedMethodsAndThoseThatCallThem() {
        FakeLite lite = new FakeLite(AttachOptions.to(Path.of("/tmp/x.sock"), "x"));
        List<String> held = new ArrayList<>();
        new ApplicationContextRunner()
                .withConfiguration(
                        AutoConfigurations.of(LiteClientAutoConfiguration.class, LiteLockAutoConfiguration.class))
                .withPropertyValues("shop.name=acme", "shop.wait=250ms")
                .withBean(Diary.class, () -> new Diary(held))
                .withBean(Stock.class, () -> new Stock(lite.sync()))
                .withBean(Worker.class)
                .withBean(Lite.class, () -> lite)
                .run(context -> assertThat(context).hasNotFailed());
        assertThat(lite.isOpen()).isFalse();
        assertThat(held).containsExactly("stock");
    }

    /** The caller would take the exception for that of a method that did not run, and call again. */
    @Test
    void aMethodThatRanReturnsAlsoIfItsLockCannotBeReleased() {
        withStock().run(context -> {
            sync.releaseFailures.add(new LiteTimeoutException("the node did not answer"));
            assertThat(context.getBean(Stock.class).held()).containsExactly("stock");
            sync.releaseFailures.add(new LiteTimeoutException("the node did not answer"));
            assertThatThrownBy(() -> context.getBean(Stock.class).fail())
                    .isInstanceOf(UnsupportedOperationException.class);
            assertThat(sync.releaseFailures).isEmpty();
        });
    }

    @Test
    void theLockIsReleasedAfterAnException() {
        withStock().run(context -> {
            assertThatThrownBy(() -> context.getBean(Stock.class).fail())
                    .isInstanceOf(UnsupportedOperationException.class)
                    .hasMessage("stock");
            assertThat(sync.held).isEmpty();
            assertThat(sync.lastDeadline()).isEqualTo(Duration.ofMillis(250));
        });
    }

    @Test
    void theNameMayHavePlaceholdersPropertiesAndParameters() {
        withStock()
                .run(context ->
                        assertThat(context.getBean(Stock.class).heldFor("tea")).containsExactly("acme/north/tea"));
    }

    @Test
    void anExpressionThatIsNullIsRefused() {
        withStock()
                .run(context -> assertThatThrownBy(
                                () -> context.getBean(Stock.class).heldFor(null))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageStartingWith("@LiteLock of ")
                        .hasMessageEndingWith("#{#article} of the name is null"));
    }

    record Order(@Nullable String article, int count) {}

    static class Orders {
        @LiteLock("#{'stock/' + #article}")
        String add(@Nullable String article) {
            return LiteLocks.current().name();
        }

        @LiteLock("stock/#{#order.count + '/' + #order.article + '/x'}")
        String addProperties(Order order) {
            return LiteLocks.current().name();
        }

        @LiteLock("#{#all ? 'stock' : 'stock/' + #article}")
        String addUnless(boolean all, @Nullable String article) {
            return LiteLocks.current().name();
        }

        @LiteLock("#{'stock/' + (#article ?: 'none')}")
        String addOrElse(@Nullable String article) {
            return LiteLocks.current().name();
        }

        @LiteLock("stock/#{#order.artcle}")
        String misspelt(Order order) {
            return LiteLocks.current().name();
        }
    }

    /** It would be a lock of the name "stock/null". */
    @Test
    void anExpressionThatAddsNullToATextIsRefused() {
        runner.withBean(Orders.class).run(context -> {
            Orders orders = context.getBean(Orders.class);
            assertThat(orders.add("tea")).isEqualTo("stock/tea");
            assertNull(() -> orders.add(null), "#article", "'stock/' + #article");
            assertThat(orders.addProperties(new Order("tea", 3))).isEqualTo("stock/3/tea/x");
            assertNull(
                    () -> orders.addProperties(new Order(null, 3)),
                    "#order.article",
                    "#order.count + '/' + #order.article + '/x'");
            assertThat(orders.addUnless(true, null)).isEqualTo("stock");
            assertNull(() -> orders.addUnless(false, null), "#article", "#all ? 'stock' : 'stock/' + #article");
            assertThat(orders.addOrElse(null)).isEqualTo("stock/none");
            assertThat(sync.held).isEmpty();
        });
    }

    private static void assertNull(ThrowingCallable call, String operand, String expression) {
        assertThatThrownBy(call)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("@LiteLock of ")
                .hasMessageEndingWith(
                        "the operand %s of the expression #{%s} of the name is null".formatted(operand, expression));
    }

    @Test
    void anExpressionThatCannotBeEvaluatedNamesItsMethod() {
        runner.withBean(Orders.class)
                .run(context -> assertThatThrownBy(
                                () -> context.getBean(Orders.class).misspelt(new Order("tea", 3)))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageStartingWith("@LiteLock of ")
                        .hasMessageContaining("Orders.misspelt(")
                        .hasMessageContaining("the expression #{#order.artcle} of the name cannot be evaluated: ")
                        .hasMessageContaining("'artcle'"));
    }

    static class Variables {
        @LiteLock("a/#{#p0}/#{#a1}/#{#root.tenant}/#{#articles.![#this + '#' + #count]}/#count1#")
        String run(List<String> articles, int count) {
            return LiteLocks.current().name();
        }

        public String getTenant() {
            return "north";
        }
    }

    @Test
    void theNameMayHaveTheVariablesOfSpring() {
        runner.withBean(Variables.class)
                .run(context -> assertThat(context.getBean(Variables.class).run(List.of("tea"), 3))
                        .isEqualTo("a/tea/3/north/tea#3/#count1#"));
    }

    @Test
    void theCurrentLockIsTheInnermost() {
        withStock().run(context -> {
            Stock stock = context.getBean(Stock.class);
            assertThat(stock.currentName()).isEqualTo("stock");
            assertThat(stock.run(stock::held)).containsExactly("outer", "stock");
            assertThat(stock.run(stock::currentName)).isEqualTo("stock");
            assertThat(stock.run(() -> LiteLocks.current().name())).isEqualTo("outer");
            assertThatThrownBy(stock::unlocked)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("is not in a method with @LiteLock");
        });
    }

    @Test
    void aNestedMethodRunsUnderTheLockOfTheSameName() {
        withStock().run(context -> {
            Stock stock = context.getBean(Stock.class);
            assertThat(stock.<List<String>>run(() -> stock.run(stock::held))).containsExactly("outer", "stock");
            assertThat(stock.<String>run(
                            () -> stock.run(() -> LiteLocks.current().name())))
                    .isEqualTo("outer");
            assertThat(sync.held).isEmpty();
        });
    }

    /** Its forks inherit scoped values. Two of them would be in a locked method at the same time. */
    @Test
    void aForkOfAStructuredTaskScopeIsNotUnderTheLockOfItsParent() {
        withStock().run(context -> {
            Stock stock = context.getBean(Stock.class);
            assertThat(stock.run(() -> inFork(() -> stock.run(() -> List.copyOf(sync.held)))))
                    .containsExactly("outer", "outer");
            assertThatThrownBy(() -> stock.run(() -> inFork(LiteLocks::current)))
                    .hasRootCauseInstanceOf(IllegalStateException.class);
            assertThat(sync.held).isEmpty();
        });
    }

    /** By reflection, because the class is a preview in Java 25. */
    @SuppressWarnings("unchecked")
    private static <T> T inFork(Callable<T> work) {
        try {
            Class<?> type = Class.forName("java.util.concurrent.StructuredTaskScope");
            Object scope = type.getMethod("open").invoke(null);
            try {
                Object task = type.getMethod("fork", Callable.class).invoke(scope, work);
                type.getMethod("join").invoke(scope);
                Class<?> taskType = Class.forName("java.util.concurrent.StructuredTaskScope$Subtask");
                return (T) Objects.requireNonNull(taskType.getMethod("get").invoke(task));
            } finally {
                type.getMethod("close").invoke(scope);
            }
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("this Java has another StructuredTaskScope", e);
        }
    }

    @Test
    void onlyBeansWithTheAnnotationHaveProxies() {
        withStock().withBean(Object.class).run(context -> {
            assertThat(AopUtils.isCglibProxy(context.getBean(Stock.class))).isTrue();
            assertThat(AopUtils.isAopProxy(context.getBean("object"))).isFalse();
        });
    }

    interface Counter {
        String count(int by);
    }

    static class LockedCounter implements Counter {
        @Override
        @LiteLock("count/#{#by}")
        public String count(int by) {
            return LiteLocks.current().name();
        }
    }

    @Test
    void aBeanMayHaveAProxyOfItsInterface() {
        runner.withBean(LockedCounter.class)
                .withPropertyValues("spring.aop.proxy-target-class=false")
                .run(context -> {
                    Counter counter = context.getBean(Counter.class);
                    assertThat(AopUtils.isJdkDynamicProxy(counter)).isTrue();
                    assertThat(counter.count(3)).isEqualTo("count/3");
                });
    }

    interface LockedInterface {
        @LiteLock("count/#{#by}")
        String count(int by);
    }

    /** For example a client or a repository that a library makes of its interface. */
    @Test
    void theAnnotationMayBeInTheInterfaceOfAProxyOfALibrary() {
        runner.withBean(
                        LockedInterface.class,
                        () -> proxy(
                                LockedInterface.class,
                                (proxy, method, arguments) ->
                                        LiteLocks.current().name()))
                .run(context -> assertThat(
                                context.getBean(LockedInterface.class).count(3))
                        .isEqualTo("count/3"));
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    /** Like one of the application, or of a library. */
    static class Hiding implements BeanPostProcessor, Ordered {
        @Override
        public Object postProcessAfterInitialization(Object bean, String name) {
            return bean instanceof Counter
                    ? proxy(Counter.class, (proxy, method, arguments) -> method.invoke(bean, arguments))
                    : bean;
        }

        @Override
        public int getOrder() {
            return 0;
        }
    }

    @Test
    void aBeanThatAnotherProxyHidesFailsTheStart() {
        runner.withBean("hidden", LockedCounter.class)
                .withBean(Hiding.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("@LiteLock of " + LockedCounter.class.getName())
                        .hasStackTraceContaining("the bean \"hidden\" is behind the proxy "));
    }

    private static Counter around(Object counter, boolean frozen) {
        ProxyFactory proxies = new ProxyFactory(counter);
        proxies.setFrozen(frozen);
        return (Counter) proxies.getProxy();
    }

    /** A {@code @Bean} method may make it itself. */
    @Test
    void aBeanThatIsAProxyOfSpringAlreadyRunsUnderItsLock() {
        runner.withBean(Counter.class, () -> around(new LockedCounter(), false))
                .run(context ->
                        assertThat(context.getBean(Counter.class).count(3)).isEqualTo("count/3"));
    }

    /** Else the method would run without its lock, and nobody would notice. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aBeanWhoseProxyOfSpringHidesTheAnnotationFailsTheStart(boolean frozen) {
        runner.withBean("hidden", Counter.class, () -> {
                    Counter counter = around(new LockedCounter(), frozen);
                    return frozen ? counter : around(counter, false);
                })
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("@LiteLock of " + LockedCounter.class.getName())
                        .hasStackTraceContaining("the bean \"hidden\" is behind the proxy "));
    }

    /** It knows the class of its target, but nobody calls the methods through it. */
    @Test
    void aTargetSourceOfABeanWithALockStarts() {
        runner.withBean(
                        "swapper",
                        HotSwappableTargetSource.class,
                        () -> new HotSwappableTargetSource(new LockedCounter()))
                .run(context -> assertThat(context).hasNotFailed());
    }

    @Configuration(proxyBeanMethods = false)
    static class ProxyAroundALockedBean {
        @Bean
        Counter inner() {
            return new LockedCounter();
        }

        @Bean
        Counter outer(@Qualifier("inner") Counter inner) {
            return around(inner, true);
        }
    }

    /** A call through it acquires the lock of the other bean. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aProxyAroundABeanThatHasItsLockStarts(boolean ofClass) {
        runner.withUserConfiguration(ProxyAroundALockedBean.class)
                .withPropertyValues("spring.aop.proxy-target-class=" + ofClass)
                .run(context -> assertThat(
                                context.getBean("outer", Counter.class).count(3))
                        .isEqualTo("count/3"));
    }

    /** It is not known which one is meant, but the method must not run without a lock. */
    @Test
    void withSeveralLtSyncAndNoPrimaryOneALockedMethodFails() {
        withStock()
                .withBean("otherSync", LtSync.class, () -> new FakeSync(() -> true, () -> {}))
                .run(context -> assertThatThrownBy(
                                () -> context.getBean(Stock.class).held())
                        .isInstanceOf(NoUniqueBeanDefinitionException.class)
                        .hasMessageContaining("fakeSync,otherSync"));
    }
}

package dev.lite.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.OverridingClassLoader;

/** When the functions of handlers begin and end. */
class RpcHandlerLifecycleTests extends RpcHandlerCases {
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
    void theFunctionsEndWithTheContext() {
        runner.withUserConfiguration(ShopConfiguration.class)
                .run(context -> assertThat(rpc.handlers).containsOnlyKeys("order", "shout", "split", "swap", "forget"));
        assertThat(rpc.handlers).isEmpty();
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

    static class Optionals {
        void use(Library library) {}
    }

    static class Library {}

    /** As an application without the library. */
    private static final class WithoutLibrary extends OverridingClassLoader {
        WithoutLibrary() {
            super(RpcHandlerLifecycleTests.class.getClassLoader());
        }

        @Override
        protected boolean isEligibleForOverriding(String name) {
            return name.equals(Optionals.class.getName()) || name.equals(Library.class.getName());
        }

        @Override
        protected @Nullable Class<?> loadClassForOverriding(String name) throws ClassNotFoundException {
            if (name.equals(Library.class.getName())) {
                throw new ClassNotFoundException(name);
            }
            return super.loadClassForOverriding(name);
        }
    }

    @Test
    void aLazyBeanWhoseClassRefersToAMissingOneDoesNotFailTheStart() throws ClassNotFoundException {
        Class<?> optionals = new WithoutLibrary().loadClass(Optionals.class.getName());
        assertThatThrownBy(optionals::getDeclaredMethods).isInstanceOf(NoClassDefFoundError.class);
        runner.withInitializer(context ->
                        context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
                .withUserConfiguration(ShopConfiguration.class)
                .withInitializer(context -> ((BeanDefinitionRegistry) context.getBeanFactory())
                        .registerBeanDefinition("optionals", new RootBeanDefinition(optionals)))
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(rpc.handlers).containsKey("order");
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

    @Configuration(proxyBeanMethods = false)
    static class PrototypeConfiguration {
        @Bean
        @Scope("prototype")
        Slow slow() {
            return new Slow();
        }
    }

    /** Perhaps nobody ever asks for the bean. */
    @Test
    void aHandlerInABeanThatIsNoSingletonFailsTheStart() {
        runner.withUserConfiguration(PrototypeConfiguration.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("@LtRpcHandler(\"slow\")")
                        .hasMessageEndingWith("the bean \"slow\" has the scope \"prototype\"; it must be a singleton"));
        assertThat(rpc.handlers).isEmpty();
    }

    @Test
    void aHandlerInABeanThatIsNoSingletonIsRefusedAlsoIfItIsDefinedLater() {
        runner.run(context -> {
            context.getSourceApplicationContext(GenericApplicationContext.class)
                    .registerBean("slow", Slow.class, Slow::new, definition -> definition.setScope("prototype"));
            assertThatThrownBy(() -> context.getBean(Slow.class))
                    .rootCause()
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("@LtRpcHandler(\"slow\")")
                    .hasMessageEndingWith("the bean \"slow\" has the scope \"prototype\"; it must be a singleton");
            assertThat(rpc.handlers).isEmpty();
        });
    }
}

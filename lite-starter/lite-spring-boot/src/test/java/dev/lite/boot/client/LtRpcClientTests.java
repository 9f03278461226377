package dev.lite.boot.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.RpcFailedException;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.boot.LiteRpcAutoConfiguration;
import dev.lite.boot.LtRpcTemplate;
import dev.lite.client.fake.FakeRpc;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import kotlin.coroutines.Continuation;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ReactiveTypeDescriptor;

class LtRpcClientTests {

    private final FakeRpc rpc = new FakeRpc();
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(LiteClientAutoConfiguration.class, LiteRpcAutoConfiguration.class))
            .withBean("fakeRpc", FakeRpc.class, () -> rpc)
            .withBean(ShopHandlers.class)
            .withPropertyValues("shop.node=fake-2", "lite.client.deadline=7s");

    @Configuration(proxyBeanMethods = false)
    @ImportLtRpcClients(Shop.class)
    static class ShopClient {}

    @Test
    void aMethodCallsTheFunctionOfItsName() {
        runner.withUserConfiguration(ShopClient.class).run(context -> {
            Shop shop = context.getBean(Shop.class);
            assertThat(shop.order(new Shop.Order("tea", 4))).isEqualTo(new Shop.Receipt("tea", 1000));
            shop.forget();
            assertThat(rpc.lastNode()).isEqualTo("fake-2");
            assertThat(shop).hasToString("@LtRpcClient " + Shop.class.getName()).isEqualTo(shop);
            assertThat(shop.hashCode()).isEqualTo(shop.hashCode());
        });
    }

    @Test
    void anExchangeNamesAnotherFunction() {
        runner.withUserConfiguration(ShopClient.class)
                .run(context -> assertThat(context.getBean(Shop.class).stockOf("tea", Duration.ofSeconds(1)))
                        .isEqualTo(3));
    }

    @Test
    void repliesMayBeGeneric() {
        runner.withUserConfiguration(ShopClient.class)
                .run(context -> assertThat(context.getBean(Shop.class).split(new Shop.Order("tea", 2)))
                        .containsExactly(new Shop.Order("tea", 1), new Shop.Order("tea", 1)));
    }

    @Test
    void aFutureCompletesWithTheReply() {
        runner.withUserConfiguration(ShopClient.class).run(context -> {
            Shop shop = context.getBean(Shop.class);
            assertThat(shop.splitLater(new Shop.Order("tea", 1)))
                    .succeedsWithin(Waits.seconds(20))
                    .isEqualTo(List.of(new Shop.Order("tea", 1)));
            assertThat(shop.forgetLater()).succeedsWithin(Waits.seconds(20)).isNull();
        });
    }

    @Test
    void aDefaultMethodRunsItsOwnCode() {
        runner.withUserConfiguration(ShopClient.class)
                .run(context -> assertThat(context.getBean(Shop.class).centsOfOne("tea"))
                        .isEqualTo(250));
    }

    @Test
    void theDeadlineComesFromTheParameterOrTheMethodOrTheClientOrTheProperties() {
        runner.withUserConfiguration(ShopClient.class).run(context -> {
            Shop shop = context.getBean(Shop.class);
            assertThat(shop.stockOf("tea", Duration.ofSeconds(1))).isEqualTo(3);
            assertThat(rpc.lastDeadline()).isEqualTo(Duration.ofSeconds(1));
            assertThat(shop.stockOf("tea", null)).isEqualTo(3);
            assertThat(rpc.lastDeadline()).isEqualTo(Duration.ofMillis(1500));
            shop.forget();
            assertThat(rpc.lastDeadline()).isEqualTo(Duration.ofSeconds(2));
        });
        runner.withUserConfiguration(PlainClient.class).run(context -> {
            context.getBean(Plain.class).forget();
            assertThat(rpc.lastDeadline()).isEqualTo(Duration.ofSeconds(7));
        });
    }

    @LtRpcClient(node = "fake-1", prefix = "shop/")
    interface Plain extends Base<Shop.Order> {
        void forget();
    }

    interface Base<T> {
        List<T> split(T request);
    }

    @Configuration(proxyBeanMethods = false)
    @ImportLtRpcClients(types = Plain.class)
    static class PlainClient {}

    @LtRpcClient(prefix = "shop/")
    interface Anywhere {
        List<Shop.Order> split(Shop.Order request);

        @LtRpcExchange("split")
        CompletableFuture<List<Shop.Order>> splitLater(Shop.Order request);
    }

    @Configuration(proxyBeanMethods = false)
    @ImportLtRpcClients(types = Anywhere.class)
    static class AnywhereClient {}

    @Test
    void aClientWithoutANodeCallsAnyNode() {
        runner.withUserConfiguration(AnywhereClient.class).run(context -> {
            Anywhere shop = context.getBean(Anywhere.class);
            assertThat(shop.split(new Shop.Order("tea", 1))).containsExactly(new Shop.Order("tea", 1));
            assertThat(rpc.lastNode()).isEmpty();
            assertThat(rpc.lastDeadline()).isEqualTo(Duration.ofSeconds(7));
            assertThat(shop.splitLater(new Shop.Order("tea", 2)))
                    .succeedsWithin(Waits.seconds(20))
                    .isEqualTo(List.of(new Shop.Order("tea", 1), new Shop.Order("tea", 1)));
            assertThat(rpc.lastNode()).isEmpty();
        });
    }

    @Test
    void aGenericParentInterfaceIsResolved() {
        runner.withUserConfiguration(PlainClient.class)
                .run(context -> assertThat(context.getBean(Plain.class).split(new Shop.Order("tea", 1)))
                        .containsExactly(new Shop.Order("tea", 1)));
    }

    @Test
    void aFailureOfTheHandlerIsThrown() {
        runner.withUserConfiguration(ShopClient.class)
                .run(context -> assertThatThrownBy(
                                () -> context.getBean(Shop.class).order(new Shop.Order("tea", 0)))
                        .isInstanceOf(RpcFailedException.class)
                        .hasMessage("count is 0; it must be at least 1"));
    }

    @Configuration(proxyBeanMethods = false)
    @ImportLtRpcClients(basePackages = "${shop.package}")
    static class Scanning {}

    @Test
    void basePackagesAreScanned() {
        runner.withUserConfiguration(Scanning.class, ShopClient.class)
                .withPropertyValues("shop.package=dev.lite.boot.client.scanned")
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .hasSingleBean(Shop.class)
                        .hasSingleBean(dev.lite.boot.client.scanned.ScannedClient.class));
    }

    @Test
    void thePackageOfTheImportingClassIsScannedByDefault() {
        runner.withUserConfiguration(dev.lite.boot.client.scanned.ScanningConfiguration.class)
                .run(context -> assertThat(context).hasSingleBean(dev.lite.boot.client.scanned.ScannedClient.class));
    }

    @LtRpcClient(node = "fake-1")
    interface TwoRequests {
        @Nullable
        String call(String one, String two);
    }

    @LtRpcClient(node = "fake-1")
    interface TwoDeadlines {
        void call(Duration one, Duration two);
    }

    @LtRpcClient(node = "fake-1")
    interface ReturnsFuture {
        Future<String> call();
    }

    @LtRpcClient(node = "fake-1")
    interface ReturnsCallable {
        Callable<String> call();
    }

    @LtRpcClient(node = "fake-1")
    interface ReturnsFutureOfFuture {
        CompletableFuture<CompletableFuture<String>> call();
    }

    /** As Kotlin compiles a suspend function. */
    @LtRpcClient(node = "fake-1")
    interface Suspends {
        @Nullable
        Object call(Continuation<? super String> continuation);
    }

    /** Like Reactor's Mono. */
    record Later<T>(T value) {}

    @LtRpcClient(node = "fake-1")
    interface ReturnsReactiveType {
        Later<String> call();
    }

    @LtRpcClient(node = "fake-1")
    interface ReturnsAnything {
        CompletableFuture<?> call();
    }

    @LtRpcClient(node = "fake-1")
    interface ReturnsVariable {
        <T> List<T> call(T request);
    }

    @LtRpcClient(node = "${no.such.property}")
    interface Unresolved {
        void call();
    }

    @LtRpcClient(node = " ")
    interface Blank {
        void call();
    }

    @LtRpcClient(node = "fake-1", deadline = "soon")
    interface Soon {
        void call();
    }

    @LtRpcClient(node = "fake-1")
    interface Never {
        @LtRpcExchange(deadline = "0s")
        void call();
    }

    interface Unmarked {
        void call();
    }

    @Test
    void everyMisuseHasItsMessage() {
        ReactiveAdapterRegistry.getSharedInstance()
                .registerReactiveType(
                        ReactiveTypeDescriptor.singleRequiredValue(Later.class),
                        later -> subscriber -> subscriber.onError(new UnsupportedOperationException("not used here")),
                        Later::new);
        runner.run(context -> {
            Map<Class<?>, String> messages = Map.ofEntries(
                    Map.entry(TwoRequests.class, "it has two parameters for the request; a record can hold both"),
                    Map.entry(TwoDeadlines.class, "it has two parameters for the deadline"),
                    Map.entry(ReturnsFuture.class, "it returns java.util.concurrent.Future; use CompletableFuture"),
                    Map.entry(ReturnsCallable.class, "it returns java.util.concurrent.Callable; use CompletableFuture"),
                    Map.entry(ReturnsFutureOfFuture.class, "CompletableFuture; use CompletableFuture, or the reply's"),
                    Map.entry(Suspends.class, "it is a suspend function; a call waits for its reply"),
                    Map.entry(ReturnsReactiveType.class, "Later; use CompletableFuture, or the reply's own type"),
                    Map.entry(ReturnsAnything.class, "the type of its reply is not known: ?"),
                    Map.entry(ReturnsVariable.class, "the type of its reply is not known: java.util.List<"),
                    Map.entry(Blank.class, "the node's name is blank"),
                    Map.entry(Soon.class, "is not a duration such as 2s or 500ms"),
                    Map.entry(Never.class, "is 0s; it must be positive"),
                    Map.entry(Unmarked.class, "is not an interface with @LtRpcClient"),
                    Map.entry(String.class, "is not an interface with @LtRpcClient"));
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            messages.forEach((client, message) -> assertThatThrownBy(
                            () -> LtRpcClientProxy.create(client, template, context.getEnvironment()))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContainingAll(client.getName(), message));
        });
    }

    @Configuration(proxyBeanMethods = false)
    @ImportLtRpcClients(Unresolved.class)
    static class UnresolvedClient {}

    @Test
    void aClientThatCannotWorkFailsTheStart() {
        runner.withUserConfiguration(UnresolvedClient.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("@LtRpcClient " + Unresolved.class.getName())
                        .hasStackTraceContaining("Could not resolve placeholder 'no.such.property'"));
    }

    @Test
    void withoutJacksonOnlyBytesAndTextAreAccepted() {
        ApplicationContextRunner bare = new ApplicationContextRunner()
                .withConfiguration(
                        AutoConfigurations.of(LiteClientAutoConfiguration.class, LiteRpcAutoConfiguration.class))
                .withBean("fakeRpc", FakeRpc.class, () -> rpc)
                .withPropertyValues("shop.node=fake-2")
                .withClassLoader(new FilteredClassLoader("tools.jackson.databind", "tools.jackson.core"));
        bare.withUserConfiguration(dev.lite.boot.client.scanned.ScanningConfiguration.class)
                .run(context -> assertThat(context).hasNotFailed());
        bare.withUserConfiguration(ShopClient.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("Jackson is missing for its"));
    }
}

package dev.lite.boot.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.boot.LiteRpcAutoConfiguration;
import dev.lite.boot.LtRpcHandler;
import dev.lite.boot.lock.LiteLock;
import dev.lite.boot.lock.LiteLockAutoConfiguration;
import dev.lite.boot.lock.LiteLocks;
import dev.lite.boot.region.LiteRegion;
import dev.lite.boot.region.LiteRegionAutoConfiguration;
import dev.lite.client.fake.FakeLite;
import dev.lite.client.fake.FakeRpc;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.aot.test.generate.TestGenerationContext;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.test.tools.CompileWithForkedClassLoader;
import org.springframework.core.test.tools.TestCompiler;
import org.springframework.javapoet.ClassName;

/** The context of an application with clients and handlers, generated ahead of time. */
@CompileWithForkedClassLoader
class LtRpcClientAotTests {

    @Configuration(proxyBeanMethods = false)
    @ImportLtRpcClients({Shop.class, BillSender.class})
    @Import({Counters.class, ParcelReceiver.class})
    @ImportAutoConfiguration({
        LiteClientAutoConfiguration.class,
        LiteRpcAutoConfiguration.class,
        LiteLockAutoConfiguration.class,
        LiteRegionAutoConfiguration.class
    })
    static class Application {
        @Bean
        FakeRpc fakeRpc() {
            return new FakeRpc();
        }

        @Bean
        Lite lite() {
            return new FakeLite(AttachOptions.to(Path.of("/tmp/x.sock"), "x"));
        }

        @Bean
        ShopHandlers shopHandlers() {
            return new ShopHandlers();
        }
    }

    interface Sender<T> {
        void send(T message);
    }

    record Bill(int number) {}

    @LtRpcClient
    interface BillSender extends Sender<Bill> {}

    abstract static class Receiver<T> {
        @LtRpcHandler("receive")
        List<T> receive(T message) {
            return List.of(message);
        }
    }

    record Parcel(int number) {}

    static class ParcelReceiver extends Receiver<Parcel> {}

    static class Counters {
        private final LmrHandle counters;

        Counters(@LiteRegion(value = "counters", size = "4KB") LmrHandle counters) {
            this.counters = counters;
        }

        @LiteLock("counters")
        String count() {
            return LiteLocks.current().name() + counters.fetchAdd(0, 1);
        }
    }

    @Test
    void theGeneratedContextHasRegionsAndLocks() {
        runGenerated(
                context -> assertThat(context.getBean(Counters.class).count()).isEqualTo("counters5"));
    }

    @Test
    void theGeneratedContextHasTheClients() {
        runGenerated(context -> {
            Shop shop = context.getBean(Shop.class);
            assertThat(shop.order(new Shop.Order("tea", 4))).isEqualTo(new Shop.Receipt("tea", 1000));
            assertThat(shop.centsOfOne("tea")).isEqualTo(250);
        });
    }

    @Test
    void hintsNameTheProxiesTheMethodsAndTheConvertedTypes() throws NoSuchMethodException {
        RuntimeHints hints = generate().getRuntimeHints();
        assertThat(RuntimeHintsPredicates.proxies().forInterfaces(Shop.class)).accepts(hints);
        assertThat(RuntimeHintsPredicates.reflection()
                        .onMethodInvocation(Shop.class.getDeclaredMethod("order", Shop.Order.class)))
                .accepts(hints);
        assertThat(RuntimeHintsPredicates.reflection()
                        .onMethodInvocation(ShopHandlers.class.getDeclaredMethod("order", Shop.Order.class)))
                .accepts(hints);
        assertThat(RuntimeHintsPredicates.reflection()
                        .onConstructorInvocation(Shop.Order.class.getDeclaredConstructor(String.class, int.class)))
                .accepts(hints);
        assertThat(RuntimeHintsPredicates.reflection()
                        .onConstructorInvocation(Shop.Receipt.class.getDeclaredConstructor(String.class, long.class)))
                .accepts(hints);
    }

    @Test
    void hintsNameTheTypesThatGenericParentsConvert() throws NoSuchMethodException {
        RuntimeHints hints = generate().getRuntimeHints();
        assertThat(RuntimeHintsPredicates.reflection()
                        .onConstructorInvocation(Bill.class.getDeclaredConstructor(int.class)))
                .accepts(hints);
        assertThat(RuntimeHintsPredicates.reflection()
                        .onConstructorInvocation(Parcel.class.getDeclaredConstructor(int.class)))
                .accepts(hints);
    }

    private static TestGenerationContext generate() {
        TestGenerationContext generation = new TestGenerationContext();
        generateInto(generation);
        return generation;
    }

    private static ClassName generateInto(TestGenerationContext generation) {
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
        properties().applyTo(context);
        context.register(Application.class);
        ClassName initializer = new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
        generation.writeGeneratedContent();
        return initializer;
    }

    private static TestPropertyValues properties() {
        return TestPropertyValues.of("shop.node=fake-2");
    }

    @SuppressWarnings("unchecked")
    private static void runGenerated(Consumer<GenericApplicationContext> test) {
        TestGenerationContext generation = new TestGenerationContext();
        ClassName initializer = generateInto(generation);
        TestCompiler.forSystem().with(generation).compile(compiled -> {
            try (GenericApplicationContext context = new GenericApplicationContext()) {
                properties().applyTo(context);
                compiled.getInstance(ApplicationContextInitializer.class, initializer.reflectionName())
                        .initialize(context);
                context.refresh();
                test.accept(context);
            }
        });
    }
}

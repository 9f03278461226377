package dev.lite.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Extent;
import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.RpcServer;
import dev.lite.boot.LtRpcHandler;
import dev.lite.boot.LtRpcTemplate;
import dev.lite.boot.lock.LiteLock;
import dev.lite.boot.lock.LiteLocks;
import dev.lite.boot.region.LiteRegion;
import dev.lite.embedded.EmbeddedCluster;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.support.BeanDefinitionOverrideException;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.test.context.TestContextManager;

/** Test classes of an application, with the contexts that Spring makes for them. */
class LiteTestTests {

    record Order(String article, int count) {}

    static class Shop {
        private final LmrHandle sold;

        Shop(@LiteRegion(value = "shop/sold", size = "4KB", defaultPermissions = Permission.ATOMIC) LmrHandle sold) {
            this.sold = sold;
        }

        @LtRpcHandler("shop/sell")
        long sell(Order order) {
            return sold.fetchAdd(0, order.count()) + order.count();
        }

        @LiteLock("shop/#{#article}")
        long token(String article) {
            return LiteLocks.current().fencingToken();
        }

        @LiteLock(value = "shop/#{#article}", deadline = "100ms")
        long tokenOrTimeout(String article) {
            return LiteLocks.current().fencingToken();
        }
    }

    @SpringBootConfiguration
    @EnableAutoConfiguration
    @Import(Shop.class)
    static class Application {}

    @SpringBootTest(classes = Application.class, properties = "spring.application.name=shop")
    @LiteTest(nodes = 3)
    static class ThreeNodes {}

    @SpringBootTest(classes = Application.class, properties = "spring.application.name=shop")
    @LiteTest(nodes = 3)
    static class ThreeNodesToo {}

    @SpringBootTest(classes = Application.class, properties = "spring.application.name=other")
    @LiteTest(nodes = 3)
    static class OtherThreeNodes {}

    @LiteTest(principal = "tester")
    static class Alone {}

    @SpringBootTest(classes = Application.class, properties = "spring.application.name=")
    @LiteTest
    static class Nameless {}

    @SpringBootTest(classes = Application.class, properties = "lite.client.enabled=false")
    @LiteTest
    static class Switched {}

    @LiteTest(nodes = 17)
    static class TooManyNodes {}

    @LiteTest(arenaSize = "much")
    static class NoSize {}

    @SpringBootConfiguration
    @EnableAutoConfiguration
    static class OwnSessionApplication {
        @Bean
        Lite lite() {
            throw new IllegalStateException("the application's own session is attached");
        }
    }

    @SpringBootTest(classes = OwnSessionApplication.class)
    @LiteTest
    static class OwnSession {}

    @SpringBootTest(
            classes = OwnSessionApplication.class,
            properties = "spring.main.allow-bean-definition-overriding=true")
    @LiteTest
    static class ReplacedSession {}

    private static ApplicationContext contextOf(Class<?> test) {
        return new TestContextManager(test).getTestContext().getApplicationContext();
    }

    @Test
    void threeNodesServeTheApplicationsBeans() {
        ApplicationContext context = contextOf(ThreeNodes.class);
        Lite lite = context.getBean(Lite.class);
        assertThat(lite.nodeName()).isEqualTo("node-1");
        assertThat(lite.nodes()).extracting(NodeInfo::name).containsExactly("node-1", "node-2", "node-3");
        try (LmrHandle spread =
                lite.memory().malloc(LmrSpec.of(8 << 20).withPlacement(Placement.on(List.of("node-2", "node-3"))))) {
            spread.write(6 << 20, new byte[] {7});
            assertThat(spread.extents()).extracting(Extent::node).containsExactly("node-2", "node-3");
        }
    }

    @Test
    void aSessionWithAnotherNodeCallsTheApplicationsHandlers() {
        ApplicationContext context = contextOf(ThreeNodes.class);
        LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
        assertThat(template.call("node-1", "shop/sell", new Order("tea", 2), Long.class))
                .isEqualTo(2);
        try (Lite other = context.getBean(EmbeddedCluster.class).nodes().get(1).attach("other")) {
            byte[] reply = other.rpc()
                    .call(
                            "node-1",
                            "shop/sell",
                            "{\"article\":\"tea\",\"count\":3}".getBytes(StandardCharsets.UTF_8),
                            Duration.ofSeconds(10));
            assertThat(reply).asString().isEqualTo("5");
            assertThat(other.memory().map("shop/sold", Permission.ATOMIC).fetchAdd(0, 0))
                    .isEqualTo(5);
        }
    }

    @Test
    void aLockedMethodExcludesTheOtherSessions() {
        ApplicationContext context = contextOf(ThreeNodes.class);
        Shop shop = context.getBean(Shop.class);
        long token = shop.token("tea");
        try (Lite other = context.getBean(EmbeddedCluster.class).nodes().get(2).attach("other");
                HeldLock held = other.sync().lock("shop/tea").acquire(Duration.ofSeconds(10))) {
            assertThat(held.fencingToken()).isGreaterThan(token);
            assertThatThrownBy(() -> shop.tokenOrTimeout("tea")).isInstanceOf(LiteTimeoutException.class);
            assertThat(shop.token("coffee")).isPositive();
        }
        assertThat(shop.token("tea")).isGreaterThan(token);
    }

    @Test
    void cachedContextsHaveClustersOfTheirOwn() {
        ApplicationContext first = contextOf(ThreeNodes.class);
        ApplicationContext second = contextOf(OtherThreeNodes.class);
        assertThat(contextOf(ThreeNodesToo.class)).isSameAs(first);
        assertThat(second).isNotSameAs(first);
        try (LmrHandle one = first.getBean(LtMemory.class).malloc(LmrSpec.of(8).withName("mine"));
                LmrHandle two =
                        second.getBean(LtMemory.class).malloc(LmrSpec.of(8).withName("mine"))) {
            assertThat(one.fetchAdd(0, 1)).isZero();
            assertThat(two.fetchAdd(0, 1)).isZero();
        }
    }

    @Test
    void withoutAnApplicationThereAreTheStartersBeans() {
        ApplicationContext context = contextOf(Alone.class);
        assertThat(context.getBean(Lite.class).nodes()).hasSize(1);
        assertThat(context.getBean(LtRpcTemplate.class)).isNotNull();
        assertThat(context.getBeanNamesForType(Lite.class)).containsExactly("lite");
    }

    @Test
    void anApplicationWithABlankNameHasThePrincipalOfOneWithout() {
        ApplicationContext context = contextOf(Nameless.class);
        try (RpcServer who = context.getBean(LtRpc.class)
                .register(
                        "who",
                        1,
                        call -> MemorySegment.ofArray(call.callerPrincipal().getBytes(StandardCharsets.UTF_8)))) {
            assertThat(who.function()).isEqualTo("who");
            assertThat(context.getBean(LtRpcTemplate.class).call("node-1", "who", null, String.class))
                    .isEqualTo("application");
        }
    }

    /** The properties of all tests may switch it off for those that have no node. */
    @Test
    void anApplicationWhoseSessionIsSwitchedOffHasItInATestWithNodes() {
        Shop shop = contextOf(Switched.class).getBean(Shop.class);
        assertThat(shop.sell(new Order("tea", 2))).isEqualTo(2);
        assertThat(shop.token("tea")).isPositive();
    }

    @Test
    void theClusterEndsWithTheContext() {
        ConfigurableApplicationContext context = (ConfigurableApplicationContext) contextOf(ToClose.class);
        Lite lite = context.getBean(Lite.class);
        assertThat(lite.isOpen()).isTrue();
        context.close();
        assertThat(lite.isOpen()).isFalse();
    }

    @LiteTest(principal = "closing")
    static class ToClose {}

    @Test
    void anApplicationsOwnSessionOfTheSameNameFailsTheStartAndTheMessageSaysWhoseTheOtherIs() {
        assertThatThrownBy(() -> contextOf(OwnSession.class))
                .rootCause()
                .isInstanceOfSatisfying(
                        BeanDefinitionOverrideException.class,
                        e -> assertThat(new String[] {
                                    e.getBeanName(), e.getExistingDefinition().getResourceDescription()
                                })
                                .containsExactly("lite", "@LiteTest"))
                .hasMessageContaining("defined in @LiteTest");
    }

    @Test
    void whereBeansMayBeOverriddenTheSessionOfTheTestReplacesAnApplicationsOwnOfTheSameName() {
        ApplicationContext context = contextOf(ReplacedSession.class);
        assertThat(context.getBean(Lite.class).nodeName()).isEqualTo("node-1");
        assertThat(context.getBeanNamesForType(Lite.class)).containsExactly("lite");
    }

    @Test
    void theSizeOfAnArenaIsADataSize() {
        assertThatThrownBy(() -> contextOf(NoSize.class))
                .hasStackTraceContaining("@LiteTest of %s: the arenaSize \"much\" is not a data size such as 16MB"
                        .formatted(NoSize.class.getName()));
    }

    @Test
    void theNumberOfNodesHasALimit() {
        assertThatThrownBy(() -> contextOf(TooManyNodes.class))
                .hasStackTraceContaining("a cluster of 17 embedded nodes; it can have 1 to 16");
    }
}

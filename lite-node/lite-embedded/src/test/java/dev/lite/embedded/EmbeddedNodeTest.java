package dev.lite.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.Priority;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.fabric.FabricException;
import dev.lite.tier.memory.ArenaException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.context.ConfigurationPropertiesAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;

class EmbeddedNodeTest {
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    ConfigurationPropertiesAutoConfiguration.class,
                    LiteEmbeddedAutoConfiguration.class,
                    LiteClientAutoConfiguration.class));

    @Test
    void aSingleNodeServesItsOwnJvmAndLeavesNothing() throws IOException {
        Path parent = Files.createTempDirectory(Path.of("/dev/shm"), "lite-embedded"); // no other node uses it
        Path arenas = parent.resolve("arenas");
        EmbeddedNodeConfig config = EmbeddedNodeConfig.builder()
                .arenaDirectory(arenas)
                .arenaBytes(16 << 20)
                .build();
        try (EmbeddedNode node = EmbeddedNode.start(config);
                Lite lite = node.attach("tool");
                LmrHandle handle = lite.memory().malloc(LmrSpec.of(64))) {
            assertThat(arenas.resolve(config.cluster())).doesNotExist();
            assertThat(lite.nodes()).singleElement().extracting(NodeInfo::name).isEqualTo("embedded");
            assertThat(handle.fetchAdd(8, 5)).isZero();
            assertThat(handle.fetchAdd(8, 1)).isEqualTo(5);
        }
        Files.delete(parent); // fails if something is left there
    }

    /** As a thread of the common pool, in an application that runs from an executable jar. */
    @Test
    void aThreadWhoseContextClassLoaderDoesNotKnowTheDriversStartsANode() {
        Thread thread = Thread.currentThread();
        ClassLoader former = thread.getContextClassLoader();
        thread.setContextClassLoader(ClassLoader.getPlatformClassLoader());
        try (EmbeddedNode node = EmbeddedNode.start(
                EmbeddedNodeConfig.builder().require("shm").arenaBytes(16 << 20).build())) {
            assertThat(node.name()).isEqualTo("embedded");
        } finally {
            thread.setContextClassLoader(former);
        }
    }

    @Test
    void aNodeThatCannotStartLeavesNothing() {
        EmbeddedNodeConfig config =
                EmbeddedNodeConfig.builder().arenaBytes(1L << 60).build();
        assertThatThrownBy(() -> EmbeddedNode.start(config)).isInstanceOf(ArenaException.class);
        assertThat(config.arenaDirectory().resolve(config.cluster())).doesNotExist();
    }

    @Test
    void aRequiredFabricThatCannotBeUsedIsRefusedWithTheReasonAndNothingIsLeft() {
        EmbeddedNodeConfig config = EmbeddedNodeConfig.builder().require("rdma").build();
        assertThatThrownBy(() -> EmbeddedNode.start(config))
                .isInstanceOf(FabricException.class)
                .hasMessage("the fabric rdma is required, and it cannot be used: its driver is not on the class path");
        assertThat(config.arenaDirectory().resolve(config.cluster())).doesNotExist();
        runner.withPropertyValues("lite.embedded.require=rdma")
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("the fabric rdma is required"));
        try (EmbeddedNode node = EmbeddedNode.start(
                EmbeddedNodeConfig.builder().require("shm").arenaBytes(16 << 20).build())) {
            assertThat(node.name()).isEqualTo("embedded");
        }
    }

    @Test
    void anApplicationWithAnEmbeddedNodeNeedsNoNodeOnItsHost() {
        String cluster = "embedded-test-" + ProcessHandle.current().pid();
        runner.withPropertyValues(
                        "lite.embedded.cluster=" + cluster,
                        "lite.embedded.arena-size=16MB",
                        "spring.application.name=orders")
                .run(context -> {
                    assertThat(context).hasNotFailed().hasSingleBean(Lite.class).hasSingleBean(LtMemory.class);
                    LtMemory memory = context.getBean(LtMemory.class);
                    memory.malloc(LmrSpec.of(8).withName("n")).write(0, new byte[] {7});
                    byte[] back = new byte[1];
                    memory.map("n", Permission.READ).read(0, back);
                    assertThat(back).containsExactly(7);
                });
        assertThat(Path.of("/dev/shm/lite", cluster)).doesNotExist();
    }

    @ParameterizedTest
    @CsvSource({"'', ''", "' ', ' '", "'', orders", "billing, ''"})
    void aBlankNameIsNoPrincipal(String principal, String application) {
        runner.withPropertyValues(
                        "lite.embedded.arena-size=16MB",
                        "lite.embedded.principal=" + principal,
                        "spring.application.name=" + application)
                .run(context -> {
                    String expected =
                            principal.isBlank() ? application.isBlank() ? "application" : application : principal;
                    assertThat(context).hasNotFailed();
                    LmrHandle handle = context.getBean(LtMemory.class)
                            .malloc(LmrSpec.of(8).withName("n").withDefaultPermissions());
                    assertThat(handle.permissions()).contains(Permission.READ);
                    assertThat(context.getBean(EmbeddedNode.class)
                                    .attach(expected)
                                    .memory()
                                    .map("n", Permission.READ))
                            .isNotNull();
                });
    }

    /** No master could grant it anything. */
    @Test
    void aSessionNeedsANameThatAPrincipalMayHave() {
        String longest = "x".repeat(512);
        try (EmbeddedNode node = EmbeddedNode.start(
                        EmbeddedNodeConfig.builder().arenaBytes(16 << 20).build());
                Lite lite = node.attach(longest)) {
            assertThat(lite.isOpen()).isTrue();
            Map.of(
                            "",
                            "the principal's name is blank: \"\"",
                            " ",
                            "the principal's name is blank: \" \"",
                            "a\nb",
                            "the principal's name has a control character: U+000A at index 1",
                            longest + "x",
                            "the principal's name \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\" has 513 bytes of UTF-8; the limit is 512")
                    .forEach((principal, message) -> {
                        assertThatThrownBy(() -> node.attach(principal))
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessage(message);
                        assertThatThrownBy(() -> node.attach(principal, Priority.LOW))
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessage(message);
                    });
        }
    }

    @Test
    void everyConfigurationWithoutAZooKeeperNamesAClusterOfItsOwn() {
        assertThat(EmbeddedNodeConfig.builder().build().cluster())
                .isNotEqualTo(EmbeddedNodeConfig.builder().build().cluster());
    }

    /** By a name of its process it would meet strangers: in containers, each is process 1. */
    @Test
    void aConfigurationWithAZooKeeperMustNameItsCluster() {
        EmbeddedNodeConfig.Builder joining = EmbeddedNodeConfig.builder().zookeeper("localhost:2181");
        assertThatThrownBy(joining::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "the ZooKeeper is localhost:2181, and the cluster has no name; set lite.embedded.cluster (or the builder's cluster), since all nodes with one name at this ZooKeeper are one cluster");
        assertThat(joining.cluster("lite").build().cluster()).isEqualTo("lite");
    }

    @Test
    void twoContextsInOneJvmEachHaveTheirOwnNode() {
        ApplicationContextRunner small = runner.withPropertyValues("lite.embedded.arena-size=16MB");
        small.run(first -> small.run(second -> {
            assertThat(first).hasNotFailed();
            assertThat(second).hasNotFailed();
            LmrHandle counter = first.getBean(LtMemory.class)
                    .malloc(LmrSpec.of(8).withName("counter").withDefaultPermissions(Permission.READ));
            assertThat(counter.fetchAdd(0, 7)).isZero();
            assertThatThrownBy(() -> second.getBean(LtMemory.class).map("counter", Permission.READ))
                    .isInstanceOf(LmrNotFoundException.class);
        }));
    }

    @Test
    void customizersChangeTheConfigurationInTheirOrder() {
        runner.withPropertyValues("lite.embedded.arena-size=16MB", "lite.embedded.name=configured")
                .withUserConfiguration(Customizers.class)
                .run(context ->
                        assertThat(context.getBean(EmbeddedNode.class).name()).isEqualTo("second"));
    }

    @Configuration(proxyBeanMethods = false)
    static class Customizers {
        @Bean
        @Order(2)
        EmbeddedNodeCustomizer second() {
            return config -> config.name("second");
        }

        @Bean
        @Order(1)
        EmbeddedNodeCustomizer first() {
            return config -> config.name("first");
        }
    }

    @Test
    void aClusterOfThreeNodesInOneJvm() {
        try (EmbeddedCluster cluster = EmbeddedCluster.start(3, 16 << 20);
                Lite first = cluster.attach("tool");
                Lite third = cluster.nodes().get(2).attach("tool")) {
            assertThat(first.nodes()).extracting(NodeInfo::name).containsExactly("node-1", "node-2", "node-3");
            LmrHandle counter =
                    first.memory().malloc(LmrSpec.of(8).withName("counter").withPlacement(Placement.on("node-2")));
            assertThat(counter.fetchAdd(0, 3)).isZero();
            assertThat(third.memory().map("counter", Permission.ATOMIC).fetchAdd(0, 1))
                    .isEqualTo(3);
        }
        assertThatThrownBy(() -> EmbeddedCluster.start(0, 16 << 20))
                .hasMessage("a cluster of 0 embedded nodes; it can have 1 to 16");
        assertThatThrownBy(() -> EmbeddedCluster.start(2, 1L << 60)).isInstanceOf(ArenaException.class);
    }

    @Test
    void aDisabledEmbeddedNodeLeavesTheSessionToTheStarter() {
        runner.withPropertyValues("lite.embedded.enabled=false", "lite.client.enabled=false")
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .doesNotHaveBean(Lite.class)
                        .doesNotHaveBean(EmbeddedNode.class));
    }
}

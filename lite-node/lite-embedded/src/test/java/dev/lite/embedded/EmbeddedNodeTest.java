package dev.lite.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.NodeInfo;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.fabric.FabricException;
import dev.lite.tier.memory.ArenaException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.context.ConfigurationPropertiesAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

class EmbeddedNodeTest {
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    ConfigurationPropertiesAutoConfiguration.class,
                    LiteEmbeddedAutoConfiguration.class,
                    LiteClientAutoConfiguration.class));

    @Test
    void aSingleNodeServesItsOwnJvmAndLeavesNothing() {
        EmbeddedNodeConfig config =
                EmbeddedNodeConfig.builder().arenaBytes(16 << 20).build();
        Path arenas = config.arenaDirectory();
        boolean existed = Files.exists(arenas); // other nodes of this host may use it
        try (EmbeddedNode node = EmbeddedNode.start(config);
                Lite lite = node.attach("tool");
                LmrHandle handle = lite.memory().malloc(LmrSpec.of(64))) {
            assertThat(arenas.resolve(config.cluster())).doesNotExist();
            assertThat(lite.nodes()).singleElement().extracting(NodeInfo::name).isEqualTo("embedded");
            assertThat(handle.fetchAdd(8, 5)).isZero();
            assertThat(handle.fetchAdd(8, 1)).isEqualTo(5);
        }
        assertThat(arenas.resolve(config.cluster())).doesNotExist();
        assertThat(existed || Files.notExists(arenas)).isTrue();
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
        runner.withPropertyValues("lite.embedded.arena-size=16MB", "spring.application.name=orders")
                .run(context -> {
                    assertThat(context).hasNotFailed().hasSingleBean(Lite.class).hasSingleBean(LtMemory.class);
                    LtMemory memory = context.getBean(LtMemory.class);
                    memory.malloc(LmrSpec.of(8).withName("n")).write(0, new byte[] {7});
                    byte[] back = new byte[1];
                    memory.map("n", dev.lite.api.Permission.READ).read(0, back);
                    assertThat(back).containsExactly(7);
                });
        assertThat(Files.exists(Path.of(
                        "/dev/shm/lite", "embedded-" + ProcessHandle.current().pid())))
                .isFalse();
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

package dev.lite.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Priority;
import dev.lite.cluster.qos.QosPolicy;
import dev.lite.os.PeerCredentials;
import dev.lite.session.protocol.SessionArea;
import dev.lite.tier.NameRules;
import dev.lite.tier.memory.ArenaConfig;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.session.PrincipalPolicy;
import dev.lite.tier.session.SessionServerConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

class NodePropertiesTest {

    private static NodeProperties bind(Map<String, String> properties) {
        return new Binder(new MapConfigurationPropertySource(properties))
                .bindOrCreate("lite.node", NodeProperties.class);
    }

    @TempDir
    private Path directory;

    @Test
    void everyPropertyHasADefault() {
        NodeProperties properties = bind(Map.of());

        LiteNodeConfig config = properties.toConfig("lite");
        assertThat(config.name()).isNotBlank();
        assertThat(config.arenaRoot()).isEqualTo(Path.of("/dev/shm/lite"));
        assertThat(config.arenaBytes()).isEqualTo(1L << 30);
        assertThat(config.arenaKept()).isEqualTo(ArenaConfig.Kept.ALWAYS);
        assertThat(config.limits()).isEqualTo(LiteNodeConfig.Limits.DEFAULT);
        assertThat(config.deadline()).isEqualTo(Duration.ofSeconds(10));
        assertThat(properties.drainTimeout()).isEqualTo(Duration.ofSeconds(30));
        assertThat(properties.orphanGrace()).isEqualTo(Duration.ofMinutes(10));
        assertThat(properties.nameIdle()).isEqualTo(Duration.ofMinutes(1));
        assertThat(config.pollSpins()).isEqualTo(LiteNodeConfig.pollSpinsDefault());
        assertThat(properties.fabrics()).containsExactly("shm");
        SessionServerConfig sessions = properties.toSessionConfig();
        assertThat(sessions.socket()).isEqualTo(Path.of("/run/lite/node.sock"));
        assertThat(sessions.socketMode()).isEqualTo(0660);
        assertThat(sessions.policy().decide(new PeerCredentials(1, 42, 42), null))
                .isEqualTo(new PrincipalPolicy.Admitted("uid:42"));
    }

    @Test
    void everyPropertyReachesItsComponent() {
        NodeProperties properties = bind(Map.ofEntries(
                Map.entry("lite.node.name", "n"),
                Map.entry("lite.node.arena.size", "64MB"),
                Map.entry("lite.node.arena.directory", "/arenas"),
                Map.entry("lite.node.arena.retain", "false"),
                Map.entry("lite.node.arena.extents", "1000"),
                Map.entry("lite.node.run-directory", "/r"),
                Map.entry("lite.node.socket-mode", "600"),
                Map.entry("lite.node.fabrics", "shm,tcp"),
                Map.entry("lite.node.limits.lmr-size", "1MB"),
                Map.entry("lite.node.limits.handles-per-session", "7"),
                Map.entry("lite.node.limits.nodes", "8"),
                Map.entry("lite.node.limits.sessions", "9"),
                Map.entry("lite.node.limits.requests-per-session", "3"),
                Map.entry("lite.node.limits.bytes-per-principal", "2MB"),
                Map.entry("lite.node.session.slots", "5"),
                Map.entry("lite.node.session.window-size", "1MB"),
                Map.entry("lite.node.session.rest-after", "2s"),
                Map.entry("lite.node.deadline", "3s"),
                Map.entry("lite.node.channels-max", "13"),
                Map.entry("lite.node.spins.poll", "11"),
                Map.entry("lite.node.tcp.bind", "::1"),
                Map.entry("lite.node.tcp.port", "7420"),
                Map.entry("lite.node.tcp.advertised-host", "host-1"),
                Map.entry("lite.node.tcp.lanes", "3"),
                Map.entry("lite.node.tcp.secret", "a secret of the cluster"),
                Map.entry("lite.node.tcp.protection", "none"),
                Map.entry("lite.node.tcp.verify-names", "false"),
                Map.entry("lite.node.tcp.channels", "false"),
                Map.entry("lite.node.tcp.peer-timeout", "4s"),
                Map.entry("lite.node.spins.session", "12")));

        assertThat(properties.toConfig("c"))
                .isEqualTo(new LiteNodeConfig(
                        "c",
                        "n",
                        Path.of("/arenas"),
                        64 << 20,
                        ArenaConfig.Kept.AFTER_CRASH,
                        Path.of("/r"),
                        new LiteNodeConfig.Limits(1 << 20, 7, 0, 1000, 8, 2 << 20),
                        Duration.ofSeconds(3),
                        11,
                        13,
                        Map.of(),
                        Map.of(),
                        QosPolicy.OFF,
                        Map.of(
                                "tcp",
                                Map.of(
                                        "bind",
                                        "::1",
                                        "port",
                                        "7420",
                                        "advertised-host",
                                        "host-1",
                                        "lanes",
                                        "3",
                                        "secret",
                                        "a secret of the cluster",
                                        "protection",
                                        "none",
                                        "verify-names",
                                        "false",
                                        "channels",
                                        "false",
                                        "peer-timeout-ms",
                                        "4000"))));
        SessionServerConfig sessions = properties.toSessionConfig();
        assertThat(sessions.socket()).isEqualTo(Path.of("/r/node.sock"));
        assertThat(sessions.socketMode()).isEqualTo(0600);
        assertThat(sessions.sessionsMax()).isEqualTo(9);
        assertThat(sessions.handlesMax()).isEqualTo(7);
        assertThat(sessions.requestsMax()).isEqualTo(3);
        assertThat(sessions.spins()).isEqualTo(12);
        assertThat(sessions.area()).isEqualTo(new SessionArea(5, 1 << 20));
        assertThat(properties.fabrics()).containsExactly("shm", "tcp");
    }

    @Test
    void invalidSessionMemoryIsReportedWithItsPropertyNames() {
        SessionServerConfig unsaid = bind(Map.of()).toSessionConfig();
        assertThat(unsaid.area())
                .isEqualTo(SessionServerConfig.of(unsaid.socket()).area());
        assertRefused("lite.node.session.slots", "65", "lite.node.session.slots is 65; it must be 1 to 64");
        for (String size : List.of("0B", "5000B", "20MB", "8GB")) {
            assertRefused("lite.node.session.window-size", size, "a multiple of 4096 bytes up to 16777216");
        }
        for (String rest : List.of("0s", "999ms", "25h")) {
            assertThatThrownBy(() ->
                            bind(Map.of("lite.node.session.rest-after", rest)).toConfig("lite"))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("lite.node.session.rest-after is ")
                    .hasMessageContaining("it must be 1 s to 86400 s");
        }
    }

    private void assertRefused(String property, String value, String message) {
        NodeProperties properties = bind(Map.of(property, value));
        assertThatThrownBy(properties::toSessionConfig)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(property)
                .hasMessageContaining(message);
    }

    @Test
    void theClusterSecretCanComeFromAFileAndIsNeverPrinted() throws IOException {
        Path file = Files.writeString(directory.resolve("secret"), "a secret of the cluster\n");
        NodeProperties properties =
                bind(Map.of("lite.node.fabrics", "tcp", "lite.node.tcp.secret-file", file.toString()));

        LiteNodeConfig config = properties.toConfig("c");

        assertThat(config.fabricOptions().get("tcp")).containsEntry("secret", "a secret of the cluster");
        assertThat(properties + config.toString()).doesNotContain("a secret of the cluster");
        assertThatThrownBy(() -> bind(Map.of(
                                "lite.node.fabrics",
                                "tcp",
                                "lite.node.tcp.secret",
                                "another secret of it",
                                "lite.node.tcp.secret-file",
                                file.toString()))
                        .toConfig("c"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("lite.node.tcp.secret-file")
                .hasMessageNotContaining("another secret");
    }

    @Test
    void onlyConfiguredPrincipalsAreAdmittedAndNoTokenIsPrinted() {
        NodeProperties properties = bind(Map.of(
                "lite.node.principals[0].name", "orders",
                "lite.node.principals[0].token", "s3cret",
                "lite.node.principals[1].name", "root",
                "lite.node.principals[1].uid", "0"));
        PrincipalPolicy policy = properties.toSessionConfig().policy();

        assertThat(policy.decide(new PeerCredentials(1, 42, 42), "s3cret"))
                .isEqualTo(new PrincipalPolicy.Admitted("orders"));
        assertThat(policy.decide(new PeerCredentials(1, 0, 0), null)).isEqualTo(new PrincipalPolicy.Admitted("root"));
        assertThat(policy.decide(new PeerCredentials(1, 42, 42), "wrong")).isInstanceOf(PrincipalPolicy.Rejected.class);
        assertThat(properties.toString()).contains("orders").doesNotContain("s3cret");
    }

    @Test
    void timesThatCouldLoseMemoryAreRefusedWithTheirLimit() {
        assertThatThrownBy(() -> bind(Map.of("lite.node.drain-timeout", "-1s")).toConfig("c"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("lite.node.drain-timeout is -1 s");
        assertThatThrownBy(() -> bind(Map.of("lite.node.orphan-grace", "19s")).toConfig("c"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("lite.node.orphan-grace is 19 s")
                .hasMessageContaining("20 s");
    }

    @Test
    void anIdleTimeOfNamesOutsideItsLimitsIsRefusedWithThem() {
        for (String idle : new String[] {"999ms", "-1s", "25h"}) {
            assertThatThrownBy(() -> bind(Map.of("lite.node.name-idle", idle)).toConfig("c"))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("lite.node.name-idle is ")
                    .hasMessageContaining("it must be 1 s to 86400 s");
        }
        assertThat(bind(Map.of("lite.node.name-idle", "24h")).nameIdle()).isEqualTo(Duration.ofHours(24));
    }

    @Test
    void aLimitOfChannelsOutsideItsRangeIsRefusedWithIt() {
        assertThat(bind(Map.of()).toConfig("c").channelsMax()).isEqualTo(256);
        for (String max : new String[] {"0", "4096"}) {
            assertThat(bind(Map.of("lite.node.channels-max", max)).toConfig("c").channelsMax())
                    .isEqualTo(Integer.parseInt(max));
        }
        for (String max : new String[] {"-1", "4097"}) {
            assertThatThrownBy(() -> bind(Map.of("lite.node.channels-max", max)).toConfig("c"))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("lite.node.channels-max is %s; it must be 0 (no channels) to 4096", max);
        }
    }

    @Test
    void anInvalidSocketModeIsRefusedWithItsValue() {
        for (String mode : new String[] {"rw", "8", "1000", "-1"}) {
            assertThatThrownBy(() -> bind(Map.of("lite.node.socket-mode", mode)).toSessionConfig())
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("lite.node.socket-mode")
                    .hasMessageContaining(mode);
        }
    }

    /** The chart makes the URL of the pod's address, to which it cannot add brackets. */
    @Test
    void anIpv6AddressInTheManagementUrlNeedsNoBrackets() {
        for (String url : List.of("http://fd00:10::5:7410/actuator", "http://[fd00:10::5]:7410/actuator")) {
            NodeProperties properties = bind(Map.of("lite.node.management-url", url));
            assertThat(properties.toConfig("lite")).isNotNull();
            assertThat(properties.managementUrl()).hasToString("http://[fd00:10::5]:7410/actuator");
        }
    }

    @Test
    void anInvalidManagementUrlIsReported() {
        for (String url : List.of("ftp://host/x", "http:///x", "10.0.0.1:7410", "http://a:b:c/x")) {
            assertThatThrownBy(
                            () -> bind(Map.of("lite.node.management-url", url)).toConfig("lite"))
                    .hasMessageContaining("lite.node.management-url");
        }
        assertThat(bind(Map.of("lite.node.management-url", "http://10.0.0.1:7410/actuator"))
                        .toConfig("lite"))
                .isNotNull();
    }

    @Test
    void aPrincipalHasHighPriorityUnlessItIsGivenAnother() {
        LiteNodeConfig config = bind(Map.of(
                        "lite.node.name", "n",
                        "lite.node.principals[0].name", "batch",
                        "lite.node.principals[0].uid", "7",
                        "lite.node.principals[0].priority", "low",
                        "lite.node.principals[1].name", "shop",
                        "lite.node.principals[1].uid", "8"))
                .toConfig("c");
        assertThat(config.priorities()).isEqualTo(Map.of("batch", Priority.LOW, "shop", Priority.HIGH));
    }

    @Test
    void thePatternsOfNamesAreThoseOfTheirPrincipal() {
        NodeProperties properties = bind(Map.of(
                "lite.node.name", "n",
                "lite.node.principals[0].name", "shop",
                "lite.node.principals[0].uid", "7",
                "lite.node.principals[0].names", "shop/**,common",
                "lite.node.principals[0].may.call", "bank/pay",
                "lite.node.principals[1].name", "batch",
                "lite.node.principals[1].uid", "8"));
        assertThat(properties.toConfig("c").names())
                .isEqualTo(Map.of(
                        "shop",
                        NameRules.of(List.of("shop/**", "common"), Map.of(NameRules.Use.CALL, List.of("bank/pay")))));
        assertThat(PrincipalProperties.unlimited(properties.principals())).isEqualTo("batch");
        assertThatThrownBy(() -> bind(Map.of(
                                "lite.node.name", "n",
                                "lite.node.principals[0].name", "shop",
                                "lite.node.principals[0].uid", "7",
                                "lite.node.principals[0].may.lock", "a*b"))
                        .toConfig("c"))
                .hasMessageContaining("lite.node.principals: the names of \"shop\": \"a*b\" is not a pattern");
    }

    @Test
    void theQualityOfServiceIsThatOfTheProperties() {
        QosPolicy policy = bind(Map.of(
                        "lite.node.name", "n",
                        "lite.node.qos.mode", "sw-pri",
                        "lite.node.qos.heavy-load", "4",
                        "lite.node.qos.low-rate", "2MB",
                        "lite.node.qos.quotas.batch.operations", "50"))
                .toConfig("c")
                .qos();
        assertThat(policy)
                .isEqualTo(new QosPolicy(
                        QosPolicy.Mode.SW_PRI,
                        75,
                        25,
                        0.1,
                        4,
                        2,
                        2 << 20,
                        Map.of("batch", new QosPolicy.Quota(null, 50L))));
    }

    @Test
    void wrongSharesAndQuotasAreRefusedByTheirProperties() {
        assertThatThrownBy(() -> bind(Map.of("lite.node.name", "n", "lite.node.qos.low-share", "30"))
                        .toConfig("c"))
                .hasMessage(
                        "lite.node.qos.high-share is 75 and lite.node.qos.low-share is 30, together 105; they must add up to 100");
        assertThatThrownBy(() -> bind(Map.of("lite.node.name", "n", "lite.node.qos.quotas.batch.bytes", "1KB"))
                        .toConfig("c"))
                .hasMessage(
                        "lite.node.qos.quotas: bytesPerSecond of \"batch\" is 1024; it must be 65536 to 1099511627776");
    }
}

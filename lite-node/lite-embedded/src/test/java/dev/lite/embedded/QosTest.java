package dev.lite.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.Priority;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcServer;
import dev.lite.cluster.qos.QosPolicy;
import dev.lite.cluster.qos.QosPolicy.Mode;
import dev.lite.cluster.qos.QosPolicy.Quota;
import dev.lite.testing.Waits;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Priorities and policies over shared memory and to the own node; no timing is compared. */
class QosTest {
    private static final Duration GENEROUS = Waits.seconds(20);
    private static final QosPolicy SW_PRI = QosPolicy.OFF.withMode(Mode.SW_PRI);

    private static EmbeddedCluster cluster;

    @BeforeAll
    static void start() {
        cluster = EmbeddedCluster.start(2, 16 << 20);
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    @AfterEach
    void off() {
        cluster.setQos(QosPolicy.OFF);
    }

    private static List<String> order(String node, RpcClient first, RpcClient second) {
        String function = first.function();
        List<String> received = new ArrayList<>();
        List<CompletableFuture<byte[]>> replies = new ArrayList<>();
        EmbeddedNode serving = cluster.nodes().stream()
                .filter(one -> one.name().equals(node))
                .findFirst()
                .orElseThrow();
        try (Lite server = serving.attach("server");
                RpcServer calls = server.rpc().serve(function)) {
            for (int call = 0; call < 4; call++) {
                replies.add(first.callAsync("first".getBytes(StandardCharsets.UTF_8), GENEROUS));
            }
            Waits.until(
                    "the first calls are queued", () -> serving.node().figures().queuedCalls() == 4);
            for (int call = 0; call < 4; call++) {
                replies.add(second.callAsync("second".getBytes(StandardCharsets.UTF_8), GENEROUS));
            }
            Waits.until("all calls are queued", () -> serving.node().figures().queuedCalls() == 8);
            for (int call = 0; call < 8; call++) {
                RpcCall next = calls.receive(GENEROUS);
                received.add(new String(next.request().toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8));
                next.reply(new byte[0]);
            }
            for (CompletableFuture<byte[]> reply : replies) {
                assertThat(reply).succeedsWithin(GENEROUS);
            }
        }
        return received;
    }

    private static List<String> times(int count, String... texts) {
        List<String> all = new ArrayList<>();
        for (String text : texts) {
            for (int time = 0; time < count; time++) {
                all.add(text);
            }
        }
        return all;
    }

    @ParameterizedTest
    @ValueSource(strings = {"node-1", "node-2"})
    void aServerReceivesCallsOfHighPriorityFirst(String node) {
        try (Lite caller = cluster.attach("caller")) {
            RpcClient high = caller.rpc().bind(node, "qos/order/" + node);
            assertThat(order(node, high.withPriority(Priority.LOW), high)).isEqualTo(times(4, "second", "first"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"node-1", "node-2"})
    void aSessionOfLowPriorityCannotRaiseItsCalls(String node) {
        try (Lite low = cluster.nodes().getFirst().attach("low", Priority.LOW);
                Lite high = cluster.attach("high")) {
            String function = "qos/raise/" + node;
            RpcClient raised = low.rpc().bind(node, function).withPriority(Priority.HIGH);
            assertThat(order(node, raised, high.rpc().bind(node, function))).isEqualTo(times(4, "second", "first"));
        }
    }

    @Test
    void callsKeepTheirPriorityWithAContextAndAtAnyNode() {
        try (Lite caller = cluster.attach("caller")) {
            RpcClient high = caller.rpc().bind("node-1", "qos/context");
            RpcClient low = high.withPriority(Priority.LOW).withContext("trace");
            assertThat(order("node-1", low, high)).isEqualTo(times(4, "second", "first"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"node-1", "node-2"})
    void aQuotaLimitsEveryKindOfOperation(String node) {
        cluster.setQos(QosPolicy.OFF.withQuotas(Map.of("batch", new Quota(null, 1L))));
        try (Lite other = cluster.attach("other");
                Lite batch = cluster.nodes().getFirst().attach("batch")) {
            LmrSpec spec = LmrSpec.of(4096)
                    .withPlacement(Placement.on(node))
                    .withDefaultPermissions(Permission.READ, Permission.WRITE, Permission.ATOMIC);
            LmrHandle free = other.memory().malloc(spec);
            LmrHandle limited =
                    batch.memory().map(free.id(), EnumSet.of(Permission.READ, Permission.WRITE, Permission.ATOMIC));
            for (int operation = 0; operation < 100; operation++) {
                free.putLong(0, operation);
            }
            everyKindWaits(limited);
            assertThat(free.getLong(0)).as("others are not limited").isGreaterThanOrEqualTo(0);
        }
    }

    private static void everyKindWaits(LmrHandle limited) {
        List<Runnable> kinds = List.of(
                () -> limited.read(0, new byte[64]),
                () -> limited.write(0, new byte[64]),
                () -> limited.getLong(8),
                () -> limited.putInt(16, 1),
                () -> limited.fetchAdd(24, 1),
                () -> limited.testSet(32, 0, 1),
                () -> limited.memset(64, 64, (byte) 1));
        kinds.forEach(QosTest::waitsAtLast);
    }

    /** With a quota of one operation a second, one of a few operations waits; without it, none ever does. */
    private static void waitsAtLast(Runnable operation) {
        waitsAtLast(operation, QosTest::waits);
    }

    private static void waitsAtLast(Runnable operation, LongSupplier waits) {
        long before = waits.getAsLong();
        for (int count = 0; count < 1_000 && waits.getAsLong() == before; count++) {
            operation.run();
        }
        assertThat(waits.getAsLong()).isGreaterThan(before);
    }

    private static long waits() {
        return cluster.nodes().getFirst().qos().high().queued();
    }

    @Test
    void aCopyHasTheLowerPriorityOfItsHandles() {
        cluster.setQos(QosPolicy.OFF.withQuotas(Map.of("batch", new Quota(null, 1L))));
        try (Lite batch = cluster.nodes().getFirst().attach("batch")) {
            LmrHandle handle = batch.memory().malloc(LmrSpec.of(4096));
            LmrHandle low = handle.withPriority(Priority.LOW);
            lowWaitsAtLast(() -> batch.memory().memcpy(low, 0, handle, 64, 64));
            lowWaitsAtLast(() -> batch.memory().memmove(handle, 0, low, 64, 64));
            waitsAtLast(() -> batch.memory().memcpy(handle, 0, handle, 64, 64));
        }
    }

    private static void lowWaitsAtLast(Runnable operation) {
        long high = waits();
        waitsAtLast(operation, () -> cluster.nodes().getFirst().qos().low().queued());
        assertThat(waits()).as("of high priority").isEqualTo(high);
    }

    @Test
    void anOperationWithoutPermitsEndsAtItsDeadlineAndNamesTheQuota() {
        cluster.setQos(QosPolicy.OFF.withQuotas(Map.of("slow", new Quota(null, 1L))));
        try (Lite slow = cluster.attach("slow")) {
            RpcClient client = slow.rpc().bind("node-1", "qos/slow");
            assertThatThrownBy(() -> {
                        for (int call = 0; call < 20; call++) {
                            try {
                                byte[] unused = client.call(new byte[8], Waits.seconds(0.5));
                            } catch (RpcFailedException notServed) {
                                // It had a permit.
                            }
                        }
                    })
                    .isInstanceOf(LiteTimeoutException.class)
                    .hasMessageContaining("the quota of \"slow\": 1 operations per second");
            assertThat(cluster.nodes().getFirst().qos().high().refused()).isPositive();
        }
    }

    @Test
    void everyOperationWorksUnderEachPriority() {
        cluster.setQos(SW_PRI);
        for (Priority priority : Priority.values()) {
            try (Lite lite = cluster.nodes().getFirst().attach("app", priority)) {
                LmrHandle handle = lite.memory()
                        .malloc(LmrSpec.of(8 << 20).withPlacement(Placement.on(List.of("node-1", "node-2"))));
                for (LmrHandle one : List.of(handle, handle.withPriority(Priority.LOW))) {
                    byte[] bytes = new byte[3 << 20];
                    Arrays.fill(bytes, (byte) 7);
                    one.write(2 << 20, bytes);
                    byte[] read = new byte[bytes.length];
                    one.read(2 << 20, read);
                    assertThat(read).isEqualTo(bytes);
                    one.putLong(0, 5);
                    assertThat(one.fetchAdd(0, 1)).isEqualTo(5);
                    assertThat(one.testSet(0, 6, 9)).isEqualTo(6);
                    assertThat(one.getLong(0)).isEqualTo(9);
                    one.memset(0, 4096, (byte) 1);
                    lite.memory().memcpy(one, 0, one, 8192, 64);
                    assertThat(one.getInt(8192)).isEqualTo(0x01010101);
                }
                handle.free();
            }
        }
    }

    @Test
    void aViewOfLowPrioritySharesItsMapping() {
        try (Lite lite = cluster.attach("app")) {
            LmrHandle handle = lite.memory().malloc(LmrSpec.of(4096));
            LmrHandle low = handle.withPriority(Priority.LOW);
            assertThat(low.withPriority(Priority.HIGH)).isSameAs(handle);
            low.putLong(0, 3);
            assertThat(handle.getLong(0)).isEqualTo(3);
            low.free();
            assertThatThrownBy(() -> handle.getLong(0)).isInstanceOf(LmrFreedException.class);
        }
    }

    @Test
    void withoutLanesHwSepIsRefusedAndTheOldPolicyStays() {
        cluster.setQos(SW_PRI);
        assertThatThrownBy(() -> cluster.setQos(QosPolicy.OFF.withMode(Mode.HW_SEP)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("mode is HW_SEP")
                .hasMessageContaining("shm has 1 lane");
        assertThat(cluster.nodes().getFirst().qos().policy()).isEqualTo(SW_PRI);
    }

    @Test
    void handlesThatWereMappedBeforeAPolicyFollowItAndItsEnd() {
        try (Lite batch = cluster.attach("batch")) {
            LmrHandle handle = batch.memory().malloc(LmrSpec.of(4096));
            handle.putLong(0, 1);
            cluster.setQos(QosPolicy.OFF.withQuotas(Map.of("batch", new Quota(null, 1L))));
            waitsAtLast(() -> handle.putLong(0, 2));
            cluster.setQos(QosPolicy.OFF);
            long before = waits();
            for (int operation = 0; operation < 1_000; operation++) {
                handle.putLong(0, operation);
            }
            assertThat(waits()).isEqualTo(before);
        }
    }
}

package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcHandlerException;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls to any node that serves a function. */
class AnyNodeTest {
    private static final Duration GENEROUS = Waits.seconds(15);

    @TempDir(factory = InDevShm.class)
    private Path root;

    private TestCluster cluster;
    private final List<Lite> at = new ArrayList<>();

    @BeforeEach
    void start() {
        cluster = new TestCluster(root, new ShmFabricProvider()).start(3);
        for (int node = 0; node < 3; node++) {
            at.add(cluster.attach(node));
        }
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    /** Serves a function that replies with the name of its node and the context. */
    private RpcServer serve(int node, String function) {
        String name = "n" + node;
        return at.get(node)
                .rpc()
                .register(function, 4, call -> text(name + (call.context() == null ? "" : call.context())));
    }

    private static MemorySegment text(String text) {
        return MemorySegment.ofArray(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String call(RpcClient client) {
        return new String(client.call(new byte[0], GENEROUS), StandardCharsets.UTF_8);
    }

    private void awaitServing(int reader, String function, String... nodes) {
        Waits.until(
                "n%d knows that %s serve %s".formatted(reader, List.of(nodes), function),
                () -> cluster.directory(reader).nodesServing(function, GENEROUS).equals(List.of(nodes)));
    }

    private static void assertNotServed(Throwable failure, String message) {
        assertThat(failure)
                .isInstanceOfSatisfying(
                        RpcFailedException.class, e -> assertThat(e.status()).isEqualTo(RpcStatus.NOT_SERVED))
                .hasMessageContaining(message);
    }

    @Test
    void theOwnNodeComesFirstAndTheOthersWhenItServesTheFunctionNoMore() {
        RpcServer own = serve(0, "f");
        serve(1, "f");
        awaitServing(0, "f", "n0", "n1");
        RpcClient client = at.getFirst().rpc().bindAny("f");
        assertThat(client.node()).isEmpty();
        assertThat(client.function()).isEqualTo("f");
        for (int i = 0; i < 5; i++) {
            assertThat(call(client)).isEqualTo("n0");
        }
        own.close();
        assertThat(call(client)).isEqualTo("n1");
        assertThat(call(client.withContext(" traced"))).isEqualTo("n1 traced");
        MemorySegment reply = MemorySegment.ofArray(new byte[8]);
        assertThat(client.call(text("x"), reply, GENEROUS)).isEqualTo(2);
        assertThat(at.getFirst().rpc().callAny("f", new byte[0], GENEROUS))
                .asString()
                .isEqualTo("n1");
        assertThat(at.getFirst().rpc().callAnyAsync("f", new byte[0], GENEROUS).join())
                .asString()
                .isEqualTo("n1");
    }

    @Test
    void aCallThatOneNodeDeclinesGoesToTheNext() {
        RpcServer own = at.getFirst().rpc().register("declined", 1, call -> {
            call.decline("its application ends");
            throw new RpcHandlerException("answered already");
        });
        serve(1, "declined");
        awaitServing(0, "declined", "n0", "n1");
        RpcClient client = at.getFirst().rpc().bindAny("declined");
        assertThat(call(client)).isEqualTo("n1");
        own.close();
    }

    @Test
    void theStagesOfAnAsynchronousCallGetWhatACallThrows() {
        List<RpcClient> clients = List.of(
                at.getFirst().rpc().bindAny("nobody's"),
                at.getFirst().rpc().bind("n1", "nobody's"),
                at.getFirst().rpc().bind("n0", "nobody's"));
        for (RpcClient client : clients) {
            CompletableFuture<Throwable> seen = new CompletableFuture<>();
            CompletableFuture<byte[]> unused =
                    client.callAsync(new byte[0], GENEROUS).whenComplete((reply, failure) -> seen.complete(failure));
            assertNotServed(seen.join(), "nobody's");
        }
    }

    @Test
    void equalNodesTakeTurnsAndABusyOneGetsFewerCalls() {
        CountDownLatch release = new CountDownLatch(1);
        AtomicInteger held = new AtomicInteger();
        for (int node = 1; node < 3; node++) {
            String name = "n" + node;
            at.get(node).rpc().register("f", 8, call -> {
                if (call.request().byteSize() > 0) {
                    held.incrementAndGet();
                    Waits.await(release);
                }
                return text(name);
            });
        }
        awaitServing(0, "f", "n1", "n2");
        RpcClient client = at.getFirst().rpc().bindAny("f");
        Set<String> seen = new TreeSet<>();
        for (int i = 0; i < 4; i++) {
            seen.add(call(client));
        }
        assertThat(seen).containsExactly("n1", "n2");
        List<CompletableFuture<byte[]>> calls = new ArrayList<>();
        for (int i = 1; i <= 6; i++) {
            calls.add(client.callAsync(new byte[1], GENEROUS));
            int begun = i;
            Waits.until("the call has arrived", () -> held.get() == begun);
        }
        release.countDown();
        List<String> nodes = calls.stream()
                .map(each -> new String(each.join(), StandardCharsets.UTF_8))
                .sorted()
                .toList();
        assertThat(nodes).containsExactly("n1", "n1", "n1", "n2", "n2", "n2");
    }

    @Test
    void aNodeThatServesTheFunctionNoMoreOrIsAwayIsPassedOver() {
        RpcServer ending = serve(1, "f");
        serve(2, "f");
        awaitServing(0, "f", "n1", "n2");
        cluster.directory(1).setAvailable(false); // so that its entry stays
        ending.close();
        RpcClient client = at.getFirst().rpc().bindAny("f");
        for (int i = 0; i < 6; i++) {
            assertThat(call(client)).isEqualTo("n2");
        }
        cluster.node(1).close();
        for (int i = 0; i < 6; i++) {
            assertThat(call(client)).isEqualTo("n2");
        }
        assertThat(cluster.directory(0).nodesServing("f", GENEROUS)).containsExactly("n1", "n2");
    }

    @Test
    void withoutAServerACallFailsAtOnceAndSaysSo() {
        RpcClient client = at.getFirst().rpc().bindAny("f");
        assertNotServed(
                catchThrowable(() -> call(client)), "no node serves the function \"f\", as far as node n0 knows");
        RpcServer ending = serve(1, "f");
        awaitServing(0, "f", "n1");
        assertThat(call(client)).isEqualTo("n1");
        cluster.directory(1).setAvailable(false);
        ending.close();
        assertNotServed(
                catchThrowable(() -> call(client)),
                "no node that node n0 can reach serves the function \"f\"; the last of 1 node answered:");
        assertThatThrownBy(() -> at.getFirst().rpc().bindAny("")).isInstanceOf(LimitExceededException.class);
    }

    @Test
    void aCallThatMayHaveBeenExecutedIsNotRepeated() {
        AtomicInteger executed = new AtomicInteger();
        for (int node = 1; node < 3; node++) {
            at.get(node).rpc().register("fails", 2, call -> {
                executed.incrementAndGet();
                throw new RpcHandlerException("no");
            });
        }
        RpcServer held = at.get(1).rpc().serve("held");
        awaitServing(0, "fails", "n1", "n2");
        awaitServing(0, "held", "n1");
        assertThatThrownBy(() -> at.getFirst().rpc().callAny("fails", new byte[0], GENEROUS))
                .isInstanceOfSatisfying(
                        RpcFailedException.class, e -> assertThat(e.status()).isEqualTo(RpcStatus.HANDLER_FAILED));
        assertThat(executed).hasValue(1);

        CompletableFuture<byte[]> call = at.getFirst().rpc().callAnyAsync("held", new byte[0], GENEROUS);
        assertThat(held.receive(GENEROUS).callerNode()).isEqualTo("n0");
        AtomicInteger second = new AtomicInteger();
        at.get(2).rpc().register("held", 1, its -> {
            second.incrementAndGet();
            return its.request();
        });
        awaitServing(0, "held", "n1", "n2");
        cluster.stop("n1");
        assertThatThrownBy(call::join)
                .cause()
                .isInstanceOfAny(NodeUnreachableException.class, RpcFailedException.class);
        assertThat(second).hasValue(0);
    }

    @Test
    void aThousandFunctionsAreFoundAndGoWithTheirSession() {
        for (int i = 0; i < 1000; i++) {
            RpcServer unused = at.get(1).rpc().serve("function " + i);
        }
        awaitServing(0, "function 0", "n1");
        awaitServing(0, "function 999", "n1");
        at.get(1).close();
        awaitServing(0, "function 0");
        awaitServing(0, "function 999");
    }

    @Test
    void theFunctionsOfANodeAreFoundAgainAfterItsNewRegistration() {
        serve(1, "f");
        awaitServing(0, "f", "n1");
        cluster.directory(1).expireSession();
        Waits.until("n1 is registered again", () -> cluster.node(1).self().incarnation() == 2);
        awaitServing(0, "f", "n1");
        RpcClient client = at.getFirst().rpc().bindAny("f");
        Waits.until("n0 is connected to n1 again", () -> {
            try {
                return call(client).equals("n1");
            } catch (RpcFailedException | NodeUnreachableException e) {
                return false;
            }
        });
    }

    @Test
    void aFunctionThatWasServedWhileTheDirectoryWasAwayIsFoundLater() {
        cluster.directory(1).setAvailable(false);
        serve(1, "f");
        assertThat(cluster.directory(0).nodesServing("f", GENEROUS)).isEmpty();
        cluster.directory(1).setAvailable(true);
        awaitServing(0, "f", "n1");
    }
}

package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.Lite;
import dev.lite.api.NodeInfo;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.embedded.EmbeddedNode;
import dev.lite.embedded.EmbeddedNodeConfig;
import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Killing a server's node with SIGKILL fails the outstanding calls to it, and no others. Real processes. */
@ExtendWith(SharedClusters.Resolver.class)
class KilledServerTest {
    private static final byte[] REQUEST = "hello".getBytes(StandardCharsets.UTF_8);
    /** The deadline of the calls that the kill must end: so long that a call that ends only at its deadline fails the test. */
    private static final Duration OF_CALL = Waits.seconds(120);
    /** Time limit for their end. A broken connection is noticed at once; the rest is a tolerance for a busy machine. */
    private static final Duration SOON = Waits.seconds(10);

    /** Pause between two calls, because the starting node needs the processor, too. */
    private static final Duration PACE = Duration.ofNanos(500_000);

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "shm"})
    void aServerKilledDuringACallFailsOnlyThatCallAtOnce(String fabric, SharedClusters clusters) {
        try (SharedClusters.Borrowed borrowed = clusters.borrow(fabric)) {
            LocalCluster cluster = borrowed.cluster();
            EmbeddedNodeConfig config =
                    borrowed.embedded("embedded").arenaBytes(16 << 20).build();
            try (EmbeddedNode node = EmbeddedNode.start(config);
                    Lite embedded = node.attach("embedded");
                    Lite attached = Clusters.attach(cluster, 1)) {
                awaitConnected(embedded, fabric, "node-2", "node-3");
                awaitConnected(attached, fabric, "node-2", "node-3");
                killInACall(cluster, List.of(embedded, attached));
                answersAgain(cluster, List.of(embedded, attached));
            }
        }
    }

    private static void killInACall(LocalCluster cluster, List<Lite> callers) {
        AtomicBoolean stop = new AtomicBoolean();
        try (Lite killed = Clusters.attach(cluster, 2);
                Lite other = Clusters.attach(cluster, 3)) {
            RpcServer held = killed.rpc().serve("held");
            answerUntilThereIsAChannel(held, callers.getLast());
            other.rpc().register("echo", 2, KilledServerTest::echo);
            List<Bystander> bystanders = callers.stream()
                    .map(caller -> new Bystander(caller.rpc().bind("node-3", "echo"), stop))
                    .toList();
            List<CompletableFuture<Throwable>> calls = callers.stream()
                    .map(caller -> onThread(() -> caller.rpc().call("node-2", "held", REQUEST, OF_CALL)))
                    .toList();
            List<RpcCall> received = new ArrayList<>();
            for (int i = 0; i < callers.size(); i++) {
                received.add(held.receive(SOON)); // so the calls are being executed
            }
            Waits.until(
                    "the others call",
                    Waits.seconds(30),
                    () -> bystanders.stream().allMatch(one -> one.calls.get() > 10));

            long killNs = System.nanoTime();
            cluster.kill(2);

            for (CompletableFuture<Throwable> call : calls) {
                assertThat(soon(call))
                        .isInstanceOf(NodeUnreachableException.class)
                        .hasMessageContaining("held")
                        .hasMessageContaining("node-2");
            }
            System.out.printf("calls failed %d ms after the kill%n", (System.nanoTime() - killNs) / 1_000_000);
            // A new call also fails at once, without waiting for its deadline.
            for (Lite caller : callers) {
                assertThat(soon(onThread(() -> caller.rpc().call("node-2", "held", REQUEST, OF_CALL))))
                        .isInstanceOf(NodeUnreachableException.class);
            }
            Waits.until("its application has noticed", Waits.seconds(30), () -> !killed.isOpen());
            for (RpcCall call : received) { // one came through the nodes, the other one through a channel
                assertThatThrownBy(() -> call.reply(REQUEST)).isInstanceOf(SessionLostException.class);
            }

            for (Bystander bystander : bystanders) {
                long before = bystander.calls.get();
                Waits.until(
                        "the others continue",
                        Waits.seconds(30),
                        () -> bystander.failed() || bystander.calls.get() > before + 10);
            }
            stop.set(true);
            bystanders.forEach(Bystander::join);
        } finally {
            stop.set(true);
        }
    }

    /** So that the attached application's call goes through a channel when the node is killed. */
    private static void answerUntilThereIsAChannel(RpcServer server, Lite attached) {
        long before = mappedChannels();
        Waits.until("there is a channel", Waits.seconds(30), () -> {
            CompletableFuture<Throwable> call = onThread(() -> attached.rpc().call("node-2", "held", REQUEST, OF_CALL));
            server.receive(SOON).reply(REQUEST);
            assertThat(soon(call)).isNull();
            return mappedChannels() >= before + 2; // both ends are in this process
        });
    }

    private static long mappedChannels() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.contains("lite-channel")).count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void answersAgain(LocalCluster cluster, List<Lite> callers) {
        cluster.startNode(2);
        try (Lite again = Clusters.attach(cluster, 2)) {
            again.rpc().register("held", 1, KilledServerTest::echo);
            for (Lite caller : callers) {
                Waits.until("the node is connected again", Waits.seconds(30), () -> isConnected(caller, "node-2"));
                assertThat(caller.rpc().call("node-2", "held", REQUEST, SOON)).isEqualTo(REQUEST);
            }
        }
    }

    private static MemorySegment echo(RpcCall call) {
        return call.request();
    }

    /** Calls a live node repeatedly; no call may fail. */
    private static final class Bystander {
        final AtomicLong calls = new AtomicLong();
        private final CompletableFuture<Throwable> end;

        Bystander(RpcClient client, AtomicBoolean stop) {
            end = onThread(() -> {
                while (!stop.get()) {
                    assertThat(client.call(REQUEST, SOON)).isEqualTo(REQUEST);
                    calls.incrementAndGet();
                    Waits.pass(PACE);
                }
            });
        }

        boolean failed() {
            return end.isDone();
        }

        void join() {
            assertThat(soon(end)).as("a call to a live node").isNull();
        }
    }

    /** The exception of the body, or null. */
    private static CompletableFuture<Throwable> onThread(Runnable body) {
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        Thread.ofPlatform().daemon().start(() -> thrown.complete(catchThrowable(body::run)));
        return thrown;
    }

    private static @Nullable Throwable soon(CompletableFuture<Throwable> thrown) {
        try {
            return thrown.get(SOON.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new AssertionError("it did not end within " + SOON, e);
        } catch (ExecutionException e) {
            throw new AssertionError(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    private static void awaitConnected(Lite lite, String fabric, String... nodes) {
        for (String node : nodes) {
            Waits.until(lite.nodeName() + " is connected to " + node, Waits.seconds(30), () -> isConnected(lite, node));
            assertThat(lite.nodes())
                    .filteredOn(one -> one.name().equals(node))
                    .extracting(NodeInfo::fabric)
                    .containsExactly(fabric);
        }
    }

    private static boolean isConnected(Lite lite, String node) {
        return lite.nodes().stream()
                .anyMatch(one -> one.name().equals(node) && !one.fabric().equals("none"));
    }
}

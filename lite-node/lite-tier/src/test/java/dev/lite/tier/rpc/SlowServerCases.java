package dev.lite.tier.rpc;

import static dev.lite.tier.rpc.RpcContract.GENEROUS;
import static dev.lite.tier.rpc.RpcContract.SHORT;
import static dev.lite.tier.rpc.RpcContract.bytes;
import static dev.lite.tier.rpc.RpcContract.random;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Servers that answer late or never: deadlines, and the memory of calls. */
interface SlowServerCases extends RpcCases {
    @Test
    default void aNodeCountsTheCallsThatNoServerHasReceived() {
        RpcServer server = remote().rpc().serve("slow");
        RpcClient client = caller().rpc().bind("n1", "slow");
        List<CompletableFuture<byte[]>> calls = Stream.generate(() -> client.callAsync(bytes("x"), GENEROUS))
                .limit(3)
                .toList();
        Waits.until("three calls are queued", () -> cluster().node(1).figures().queuedCalls() == 3);
        RpcCall call = server.receive(GENEROUS);
        assertThat(cluster().node(1).figures().queuedCalls()).isEqualTo(2);
        call = server.replyAndReceive(call, call.request(), GENEROUS);
        call = server.replyAndReceive(call, call.request(), GENEROUS);
        call.reply(call.request());
        calls.forEach(CompletableFuture::join);
        assertThat(cluster().node(1).figures().queuedCalls()).isZero();
        server.close();
    }

    @Test
    default void aReceiveWithoutACallEndsAtItsDeadline() {
        RpcServer server = remote().rpc().serve("quiet");
        long startNs = System.nanoTime();
        assertThatThrownBy(() -> server.receive(SHORT)).isInstanceOf(LiteTimeoutException.class);
        assertThat(System.nanoTime() - startNs)
                .isBetween(SHORT.toNanos(), SHORT.plus(Waits.seconds(5)).toNanos());
        assertThatThrownBy(() -> caller().rpc().call("n1", "quiet", new byte[0], Waits.seconds(0.5)))
                .isInstanceOf(LiteTimeoutException.class)
                .hasMessageContaining("quiet");
        server.close();
    }

    @Test
    default void aLateReplyDoesNotOverwriteAnotherCallsReply() {
        for (Lite at : List.of(caller(), remote())) {
            RpcServer server = at.rpc().serve("late");
            List<RpcCall> held = new ArrayList<>();
            List<CompletableFuture<byte[]>> timeOut = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                timeOut.add(caller().rpc().callAsync(at.nodeName(), "late", new byte[] {(byte) i}, Waits.seconds(1)));
                held.add(server.receive(GENEROUS));
            }
            for (CompletableFuture<byte[]> one : timeOut) {
                assertThatThrownBy(one::join).cause().isInstanceOf(LiteTimeoutException.class);
            }
            CompletableFuture<byte[]> last = caller().rpc().callAsync(at.nodeName(), "late", new byte[] {99}, GENEROUS);
            RpcCall current = server.receive(GENEROUS);
            held.forEach(call -> call.reply(new byte[] {-1, -1}));
            Waits.pass(SHORT);
            assertThat(last).isNotDone();
            current.reply(current.request());
            assertThat(last.join()).containsExactly(99);
            server.close();
        }
    }

    @Test
    default void aSlowServerDelaysItsCallersButFailsNone() {
        RpcServer server = remote().rpc().serve("slow");
        int calls = 2_000; // far more than fit into a ring
        List<CompletableFuture<byte[]>> replies = new ArrayList<>();
        for (int i = 0; i < calls; i++) {
            replies.add(caller().rpc().callAsync("n1", "slow", bytes("number " + i), Waits.seconds(60)));
        }
        Waits.pass(Duration.ofMillis(100));
        echo(server);
        for (int i = 0; i < calls; i++) {
            assertThat(replies.get(i).join()).asString().isEqualTo("number " + i);
        }
        server.close();
    }

    @Test
    default void callersWithManyLongRequestsGetALargeRingAndLoseNoCallOnTheWay() {
        echo(remote().rpc().serve("long"));
        RpcClient client = caller().rpc().bind("n1", "long");
        Random random = new Random(1);
        client.call(random(random, 8), GENEROUS);
        long before = cluster().node(1).figures().rpcMemoryBytes();
        Waits.until("the ring is large", () -> {
            List<byte[]> requests =
                    Stream.generate(() -> random(random, 4096)).limit(24).toList();
            List<CompletableFuture<byte[]>> replies = requests.stream()
                    .map(each -> client.callAsync(each, GENEROUS))
                    .toList();
            for (int i = 0; i < requests.size(); i++) {
                assertThat(replies.get(i).join()).isEqualTo(requests.get(i));
            }
            return cluster().node(1).figures().rpcMemoryBytes() >= before + RpcWire.LARGE_RING_BYTES;
        });
        for (int i = 0; i < 500; i++) { // enough to wrap the large ring, with every padding
            byte[] request = random(random, random.nextInt(RpcWire.INLINE_BYTES_MAX));
            assertThat(client.call(request, GENEROUS)).isEqualTo(request);
        }
    }

    @Test
    default void aFullRingEndsInATimeout() {
        RpcServer server = remote().rpc().serve("stuck");
        List<CompletableFuture<byte[]>> replies = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            replies.add(caller().rpc().callAsync("n1", "stuck", new byte[2048], Duration.ofMillis(200)));
        }
        for (CompletableFuture<byte[]> reply : replies) {
            assertThatThrownBy(reply::join).cause().isInstanceOf(LiteTimeoutException.class);
        }
        echo(server);
        assertThat(caller().rpc().call("n1", "stuck", bytes("on we go"), GENEROUS))
                .asString()
                .isEqualTo("on we go");
        server.close();
    }

    /** Receives calls and answers none. */
    private List<RpcCall> swallow(RpcServer server) {
        List<RpcCall> swallowed = new CopyOnWriteArrayList<>();
        run(() -> {
            try {
                while (true) {
                    swallowed.add(server.receive(GENEROUS));
                }
            } catch (SessionLostException e) {
                // closed
            }
        });
        return swallowed;
    }

    @Test
    default void aFunctionThatNeverAnswersLeavesSlotsToAllOtherCalls() {
        echo(caller().rpc().serve("echo"));
        echo(remote().rpc().serve("echo"));
        for (Lite at : List.of(remote(), caller())) {
            RpcServer server = at.rpc().serve("hung");
            List<RpcCall> swallowed = swallow(server);
            RpcClient client = caller().rpc().bind(at.nodeName(), "hung");
            for (int bytes : new int[] {8, 5_000, 60_000}) {
                List<CompletableFuture<byte[]>> hung = new ArrayList<>();
                for (int i = 0; i < 2_100; i++) {
                    hung.add(client.callAsync(new byte[bytes], Duration.ofMillis(500)));
                }
                for (CompletableFuture<byte[]> call : hung) {
                    assertThatThrownBy(call::join).cause().isInstanceOf(LiteTimeoutException.class);
                }
            }
            try (Lite other = cluster().node(0).attach("other")) {
                for (Lite lite : List.of(caller(), other)) {
                    for (String node : List.of("n0", "n1")) {
                        for (int bytes : new int[] {8, 5_000, 60_000}) {
                            byte[] request = new byte[bytes];
                            assertThat(lite.rpc().call(node, "echo", request, GENEROUS))
                                    .as("%d bytes to %s while %s swallows calls", bytes, node, at.nodeName())
                                    .isEqualTo(request);
                        }
                    }
                }
            }
            assertThat(remote().rpc().call("n0", "echo", bytes("x"), GENEROUS)).isEqualTo(bytes("x"));
            swallowed.forEach(call -> call.reply(new byte[40_000]));
            server.close();
        }
    }

    @Test
    default void theSlotsOfReceivedCallsComeBackAfterTheirDeadlinesWithoutAnAnswer() {
        for (Lite at : List.of(remote(), caller())) {
            RpcServer server = at.rpc().serve("hung");
            List<RpcCall> swallowed = new CopyOnWriteArrayList<>();
            run(() -> {
                while (swallowed.size() < 700) { // more than the function's share
                    swallowed.add(server.receive(Waits.seconds(60)));
                }
            });
            RpcClient client = caller().rpc().bind(at.nodeName(), "hung");
            for (int round = 0; round < 50 && swallowed.size() < 700; round++) {
                List<CompletableFuture<byte[]>> calls = new ArrayList<>();
                for (int i = 0; i < 100; i++) {
                    calls.add(client.callAsync(new byte[8], Duration.ofMillis(200)));
                }
                for (CompletableFuture<byte[]> call : calls) {
                    assertThatThrownBy(call::join).cause().isInstanceOf(LiteTimeoutException.class);
                }
            }
            assertThat(swallowed).as("received calls").hasSizeGreaterThanOrEqualTo(700);
            echo(server);
            assertThat(client.call(bytes("x"), GENEROUS)).isEqualTo(bytes("x"));
            swallowed.forEach(call -> call.reply(new byte[2_000])); // dropped, and hurt nobody
            assertThatThrownBy(() -> swallowed.getFirst().reply(new byte[1])).isInstanceOf(IllegalStateException.class);
            assertThat(client.call(bytes("y"), GENEROUS)).isEqualTo(bytes("y"));
            server.close();
        }
    }

    @Test
    default void aServerThatWasBehindServesTheNextCallerAlthoughOthersHaveStoppedWaiting() {
        for (Lite at : List.of(remote(), caller())) {
            RpcServer server = at.rpc().serve("behind");
            RpcClient client = caller().rpc().bind(at.nodeName(), "behind");
            for (int i = 0; i < 5; i++) { // more than fit into the ring
                List<CompletableFuture<byte[]>> calls = new ArrayList<>();
                for (int n = 0; n < 100; n++) {
                    calls.add(client.callAsync(new byte[n % 2 == 0 ? 8 : 4_000], Duration.ofMillis(200)));
                }
                for (CompletableFuture<byte[]> call : calls) {
                    assertThatThrownBy(call::join).cause().isInstanceOf(LiteTimeoutException.class);
                }
            }
            Waits.until("none of their calls is queued", () -> {
                try {
                    server.receive(SHORT).fail("late");
                    return false;
                } catch (LiteTimeoutException e) {
                    return true;
                }
            });
            CompletableFuture<byte[]> last = client.callAsync(bytes("x"), GENEROUS);
            server.receive(GENEROUS).reply(bytes("y"));
            assertThat(last.join()).asString().isEqualTo("y");
            server.close();
        }
    }
}

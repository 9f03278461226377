package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.throwable;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcOutcome;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.fabric.FabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.CallContexts;
import dev.lite.tier.testing.CallFailures;
import dev.lite.tier.testing.Effort;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.Seeds;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The contract of calls and messages, between nodes in one JVM and within one node. */
abstract class RpcContract {
    private static final Duration GENEROUS = Waits.seconds(15);
    private static final Duration SHORT = Duration.ofMillis(50);
    /** Lengths around every limit: of slots, of inline requests, of pages, and of messages. */
    private static final int[] LENGTHS = {
        0, 1, 7, 8, 32, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193, 65535, 65536
    };

    @TempDir(factory = InDevShm.class)
    private Path root;

    private TestCluster cluster;
    private Lite caller;
    private Lite remote;
    private final List<Thread> threads = new ArrayList<>();
    private final AtomicReference<@Nullable Throwable> inThread = new AtomicReference<>();

    abstract FabricProvider provider();

    @BeforeEach
    void startNodes() {
        cluster = new TestCluster(root, provider()).start(2);
        caller = cluster.attach(0);
        remote = cluster.attach(1);
    }

    @AfterEach
    void stopNodes() {
        cluster.close();
        threads.forEach(Waits::join);
        assertThat(inThread.get()).isNull();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] random(Random random, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    private void run(Runnable body) {
        threads.add(Thread.ofPlatform().daemon().start(() -> {
            try {
                body.run();
            } catch (RuntimeException | Error e) {
                inThread.compareAndSet(null, e);
            }
        }));
    }

    /** Answers with the request until the server is closed. */
    private void echo(RpcServer server) {
        run(() -> {
            try {
                RpcCall call = server.receive(GENEROUS);
                while (true) {
                    call = server.replyAndReceive(call, call.request(), GENEROUS);
                }
            } catch (SessionLostException e) {
                // closed
            }
        });
    }

    @Test
    void aCallGetsItsReplyFromARemoteAndTheLocalNode() {
        for (int server = 0; server < 2; server++) {
            echo((server == 0 ? caller : remote).rpc().serve("echo"));
            byte[] reply = caller.rpc().call("n" + server, "echo", bytes("hello"), GENEROUS);
            assertThat(reply).asString().isEqualTo("hello");
        }
    }

    @Test
    void requestsAndRepliesOfEveryLengthArriveWhole() {
        echo(caller.rpc().serve("echo"));
        echo(remote.rpc().serve("echo"));
        Seeds.forEach(1, random -> {
            for (int length : LENGTHS) {
                byte[] request = random(random, length);
                for (String node : List.of("n0", "n1")) {
                    assertThat(caller.rpc().call(node, "echo", request, GENEROUS))
                            .as("%d bytes from %s", length, node)
                            .isEqualTo(request);
                }
            }
            for (int i = 0; i < 400; i++) { // enough to wrap the ring many times, with every padding
                byte[] request = random(random, random.nextInt(2100));
                assertThat(caller.rpc().call("n1", "echo", request, GENEROUS)).isEqualTo(request);
            }
        });
    }

    /** Replies with as many bytes as the request's first word says; each byte is the low 8 bits of the request's length. */
    private static MemorySegment ofAskedLength(RpcCall call) {
        MemorySegment request = call.request();
        byte[] reply = new byte[request.get(ValueLayout.JAVA_INT_UNALIGNED, 0)];
        Arrays.fill(reply, (byte) request.byteSize());
        return MemorySegment.ofArray(reply);
    }

    @Test
    void requestAndReplyMayHaveDifferentLengths() {
        for (Lite at : List.of(caller, remote)) {
            RpcServer server = at.rpc().register("length", 1, RpcContract::ofAskedLength);
            RpcClient client = caller.rpc().bind(at.nodeName(), "length");
            MemorySegment reply = MemorySegment.ofArray(new byte[LtRpc.MESSAGE_BYTES_MAX]);
            for (int length : LENGTHS) {
                assertReply(client, Integer.BYTES, length, reply.asSlice(0, length)); // exactly enough room
                assertReply(client, Math.max(Integer.BYTES, length), Integer.BYTES, reply);
                assertReply(client, Math.max(Integer.BYTES, length), length, reply);
            }
            server.close();
        }
    }

    private static void assertReply(RpcClient client, int requestBytes, int replyBytes, MemorySegment reply) {
        String what = "%d bytes for %d to %s".formatted(replyBytes, requestBytes, client.node());
        MemorySegment request = MemorySegment.ofArray(new byte[requestBytes]);
        request.set(ValueLayout.JAVA_INT_UNALIGNED, 0, replyBytes);
        reply.fill((byte) ~requestBytes);
        assertThat(client.call(request, reply, GENEROUS)).as(what).isEqualTo(replyBytes);
        byte[] expected = new byte[(int) reply.byteSize()];
        Arrays.fill(expected, 0, replyBytes, (byte) requestBytes);
        Arrays.fill(expected, replyBytes, expected.length, (byte) ~requestBytes); // nothing after the reply is changed
        assertThat(reply.toArray(ValueLayout.JAVA_BYTE)).as(what).isEqualTo(expected);
    }

    @Test
    void aMessageOfMoreThan64KiBIsRefusedWithTheLimit() {
        int tooLong = LtRpc.MESSAGE_BYTES_MAX + 1;
        for (Lite at : List.of(caller, remote)) {
            RpcServer server = at.rpc().register("length", 1, RpcContract::ofAskedLength);
            RpcClient client = caller.rpc().bind(at.nodeName(), "length");
            byte[] asksTooMuch = new byte[Integer.BYTES];
            MemorySegment.ofArray(asksTooMuch).set(ValueLayout.JAVA_INT_UNALIGNED, 0, tooLong);
            assertThatThrownBy(() -> client.call(new byte[tooLong], GENEROUS))
                    .as("as a request to %s", at.nodeName())
                    .isInstanceOf(LimitExceededException.class)
                    .hasMessageContaining("the request has 65537 bytes; the limit is 65536");
            assertThatThrownBy(() -> client.call(asksTooMuch, GENEROUS))
                    .as("as a reply of a handler at %s", at.nodeName())
                    .isInstanceOf(RpcFailedException.class)
                    .hasMessageContaining("the reply has 65537 bytes; the caller takes at most 65536");
            assertThat(client.call(new byte[Integer.BYTES], GENEROUS))
                    .as("afterwards")
                    .isEmpty();
            server.close();
        }
    }

    @Test
    void aCallKnowsItsCaller() {
        RpcServer server = remote.rpc()
                .register(
                        "who",
                        1,
                        call -> MemorySegment.ofArray(bytes(call.callerNode() + " " + call.callerPrincipal())));
        assertThat(caller.rpc().call("n1", "who", new byte[0], GENEROUS))
                .asString()
                .isEqualTo("n0 app");
        assertThat(remote.rpc().call("n1", "who", new byte[0], GENEROUS))
                .asString()
                .isEqualTo("n1 app");
        try (Lite other = cluster.node(0).attach("other")) {
            assertThat(other.rpc().call("n1", "who", new byte[0], GENEROUS))
                    .asString()
                    .isEqualTo("n0 other");
        }
        server.close();
    }

    @Test
    void aContextReachesTheServerBesideItsRequest() {
        for (Lite at : List.of(caller, remote)) {
            new CallContexts(caller, at).check();
        }
    }

    @Test
    void everyFailureHasItsStatus() {
        for (Lite at : List.of(caller, remote)) {
            CallFailures failures = new CallFailures(caller, at);
            failures.check();
            failures.checkMessages();
        }
    }

    @Test
    void aHandlerThatThrowsAnErrorFailsItsCallAndServesTheNext() {
        for (Lite at : List.of(caller, remote)) {
            RpcServer server = at.rpc().register("broken", 1, call -> {
                throw new AssertionError("out of ideas");
            });
            for (int i = 0; i < 3; i++) { // more calls than serving threads
                assertThatThrownBy(() -> caller.rpc().call(at.nodeName(), "broken", new byte[0], GENEROUS))
                        .isInstanceOf(RpcFailedException.class)
                        .hasMessageContaining("the handler failed");
            }
            server.close();
        }
    }

    @Test
    void aHandlerThatInterruptsItsThreadServesTheNextCall() {
        for (Lite at : List.of(caller, remote)) {
            RpcServer server = at.rpc().register("interrupts", 1, call -> {
                Thread.currentThread().interrupt();
                return call.request();
            });
            for (int i = 0; i < 3; i++) {
                assertThat(caller.rpc().call(at.nodeName(), "interrupts", bytes("x"), GENEROUS))
                        .isEqualTo(bytes("x"));
            }
            server.close();
        }
    }

    @Test
    void callingAFunctionThatNobodyServesFails() {
        for (String node : List.of("n0", "n1")) {
            assertThatThrownBy(() -> caller.rpc().call(node, "nothing", new byte[0], GENEROUS))
                    .isInstanceOf(RpcFailedException.class)
                    .hasMessageContaining("nothing")
                    .hasMessageContaining(node);
        }
        assertThatThrownBy(() -> caller.rpc().call("n9", "nothing", new byte[0], GENEROUS))
                .isInstanceOf(NodeUnreachableException.class);
    }

    @Test
    void aNodeCountsTheCallsThatNoServerHasReceived() {
        RpcServer server = remote.rpc().serve("slow");
        RpcClient client = caller.rpc().bind("n1", "slow");
        List<CompletableFuture<byte[]>> calls = Stream.generate(() -> client.callAsync(bytes("x"), GENEROUS))
                .limit(3)
                .toList();
        Waits.until("three calls are queued", () -> cluster.node(1).figures().queuedCalls() == 3);
        RpcCall call = server.receive(GENEROUS);
        assertThat(cluster.node(1).figures().queuedCalls()).isEqualTo(2);
        call = server.replyAndReceive(call, call.request(), GENEROUS);
        call = server.replyAndReceive(call, call.request(), GENEROUS);
        call.reply(call.request());
        calls.forEach(CompletableFuture::join);
        assertThat(cluster.node(1).figures().queuedCalls()).isZero();
        server.close();
    }

    @Test
    void queuedCallsOfAClosedServerFailAndTheFunctionCanBeServedAgain() {
        for (Lite at : List.of(caller, remote)) {
            RpcServer server = at.rpc().serve("f");
            CompletableFuture<byte[]> waiting = caller.rpc().callAsync(at.nodeName(), "f", bytes("x"), GENEROUS);
            Waits.pass(SHORT);
            server.close();
            assertThatThrownBy(waiting::join).cause().isInstanceOf(RpcFailedException.class);
            assertThatThrownBy(() -> caller.rpc().call(at.nodeName(), "f", bytes("x"), GENEROUS))
                    .isInstanceOf(RpcFailedException.class);
            assertThatThrownBy(() -> server.receive(SHORT)).isInstanceOf(SessionLostException.class);
            echo(at.rpc().serve("f"));
            assertThat(caller.rpc().call(at.nodeName(), "f", bytes("x"), GENEROUS))
                    .isEqualTo(bytes("x"));
        }
    }

    @Test
    void aReplyThatIsTooLongIsRefusedAndTheCallCanStillBeAnswered() {
        RpcServer server = remote.rpc().serve("f");
        run(() -> {
            RpcCall call = server.receive(GENEROUS);
            assertThatThrownBy(() -> call.reply(new byte[9]))
                    .isInstanceOf(LimitExceededException.class)
                    .hasMessageContaining("9")
                    .hasMessageContaining("8");
            call.reply(new byte[8]);
            assertThatThrownBy(() -> call.reply(new byte[8])).isInstanceOf(IllegalStateException.class);
        });
        RpcClient client = caller.rpc().bind("n1", "f");
        assertThat(client.call(MemorySegment.ofArray(new byte[1]), MemorySegment.ofArray(new byte[8]), GENEROUS))
                .isEqualTo(8);
        assertThatThrownBy(() -> client.call(new byte[LtRpc.MESSAGE_BYTES_MAX + 1], GENEROUS))
                .isInstanceOf(LimitExceededException.class);
    }

    @Test
    void aLateReplyDoesNotOverwriteAnotherCallsReply() {
        for (Lite at : List.of(caller, remote)) {
            RpcServer server = at.rpc().serve("late");
            List<RpcCall> held = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                CompletableFuture<byte[]> timesOut =
                        caller.rpc().callAsync(at.nodeName(), "late", new byte[] {(byte) i}, Waits.seconds(1));
                held.add(server.receive(GENEROUS));
                assertThatThrownBy(timesOut::join).cause().isInstanceOf(LiteTimeoutException.class);
            }
            CompletableFuture<byte[]> last = caller.rpc().callAsync(at.nodeName(), "late", new byte[] {99}, GENEROUS);
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
    void aSlowServerDelaysItsCallersButFailsNone() {
        RpcServer server = remote.rpc().serve("slow");
        int calls = 2_000; // far more than fit into a ring
        List<CompletableFuture<byte[]>> replies = new ArrayList<>();
        for (int i = 0; i < calls; i++) {
            replies.add(caller.rpc().callAsync("n1", "slow", bytes("number " + i), Waits.seconds(60)));
        }
        Waits.pass(Duration.ofMillis(100));
        echo(server);
        for (int i = 0; i < calls; i++) {
            assertThat(replies.get(i).join()).asString().isEqualTo("number " + i);
        }
        server.close();
    }

    @Test
    void callersWithManyLongRequestsGetALargeRingAndLoseNoCallOnTheWay() {
        echo(remote.rpc().serve("long"));
        RpcClient client = caller.rpc().bind("n1", "long");
        Random random = new Random(1);
        client.call(random(random, 8), GENEROUS);
        long before = cluster.node(1).figures().rpcMemoryBytes();
        Waits.until("the ring is large", () -> {
            List<byte[]> requests =
                    Stream.generate(() -> random(random, 4096)).limit(24).toList();
            List<CompletableFuture<byte[]>> replies = requests.stream()
                    .map(each -> client.callAsync(each, GENEROUS))
                    .toList();
            for (int i = 0; i < requests.size(); i++) {
                assertThat(replies.get(i).join()).isEqualTo(requests.get(i));
            }
            return cluster.node(1).figures().rpcMemoryBytes() >= before + RpcWire.LARGE_RING_BYTES;
        });
        for (int i = 0; i < 500; i++) { // enough to wrap the large ring, with every padding
            byte[] request = random(random, random.nextInt(RpcWire.INLINE_BYTES_MAX));
            assertThat(client.call(request, GENEROUS)).isEqualTo(request);
        }
    }

    @Test
    void aFullRingEndsInATimeout() {
        RpcServer server = remote.rpc().serve("stuck");
        List<CompletableFuture<byte[]>> replies = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            replies.add(caller.rpc().callAsync("n1", "stuck", new byte[2048], Duration.ofMillis(200)));
        }
        for (CompletableFuture<byte[]> reply : replies) {
            assertThatThrownBy(reply::join).cause().isInstanceOf(LiteTimeoutException.class);
        }
        echo(server);
        assertThat(caller.rpc().call("n1", "stuck", bytes("on we go"), GENEROUS))
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
    void aFunctionThatNeverAnswersLeavesSlotsToAllOtherCalls() {
        echo(caller.rpc().serve("echo"));
        echo(remote.rpc().serve("echo"));
        for (Lite at : List.of(remote, caller)) {
            RpcServer server = at.rpc().serve("hung");
            List<RpcCall> swallowed = swallow(server);
            RpcClient client = caller.rpc().bind(at.nodeName(), "hung");
            for (int bytes : new int[] {8, 5_000, 60_000}) {
                List<CompletableFuture<byte[]>> hung = new ArrayList<>();
                for (int i = 0; i < 2_100; i++) {
                    hung.add(client.callAsync(new byte[bytes], Duration.ofMillis(500)));
                }
                for (CompletableFuture<byte[]> call : hung) {
                    assertThatThrownBy(call::join).cause().isInstanceOf(LiteTimeoutException.class);
                }
            }
            try (Lite other = cluster.node(0).attach("other")) {
                for (Lite lite : List.of(caller, other)) {
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
            assertThat(remote.rpc().call("n0", "echo", bytes("x"), GENEROUS)).isEqualTo(bytes("x"));
            swallowed.forEach(call -> call.reply(new byte[40_000]));
            server.close();
        }
    }

    @Test
    void theSlotsOfReceivedCallsComeBackAfterTheirDeadlinesWithoutAnAnswer() {
        for (Lite at : List.of(remote, caller)) {
            RpcServer server = at.rpc().serve("hung");
            List<RpcCall> swallowed = new CopyOnWriteArrayList<>();
            run(() -> {
                while (swallowed.size() < 700) { // more than the function's share
                    swallowed.add(server.receive(Waits.seconds(60)));
                }
            });
            RpcClient client = caller.rpc().bind(at.nodeName(), "hung");
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
    void aServerThatWasBehindServesTheNextCallerAlthoughOthersHaveStoppedWaiting() {
        for (Lite at : List.of(remote, caller)) {
            RpcServer server = at.rpc().serve("behind");
            RpcClient client = caller.rpc().bind(at.nodeName(), "behind");
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

    @Test
    void repliesThatAreLongerThanBeforeArriveWhole() {
        remote.rpc().register("length", 4, RpcContract::ofAskedLength);
        RpcClient client = caller.rpc().bind("n1", "length");
        Seeds.forEach(1, random -> {
            List<CompletableFuture<byte[]>> replies = new ArrayList<>();
            int[] lengths = random.ints(Effort.times(400), 0, LtRpc.MESSAGE_BYTES_MAX + 1)
                    .map(length -> random.nextBoolean() ? length : length % 2_000)
                    .toArray();
            for (int length : lengths) {
                byte[] request = new byte[Integer.BYTES];
                MemorySegment.ofArray(request).set(ValueLayout.JAVA_INT_UNALIGNED, 0, length);
                replies.add(client.callAsync(request, Waits.seconds(60)));
            }
            for (int i = 0; i < lengths.length; i++) {
                byte[] expected = new byte[lengths[i]];
                Arrays.fill(expected, (byte) Integer.BYTES);
                assertThat(replies.get(i).join()).isEqualTo(expected);
            }
        });
    }

    @Test
    void sixteenCallersAndFourServersExchangeTheirOwnMessages() {
        RpcServer server = remote.rpc().serve("many");
        for (int i = 0; i < 4; i++) {
            echo(server);
        }
        Seeds.forEach(1, random -> {
            List<Thread> callers = new ArrayList<>();
            AtomicInteger done = new AtomicInteger();
            for (int i = 0; i < 16; i++) {
                Random own = new Random(random.nextLong());
                Runnable body = () -> {
                    RpcClient client = caller.rpc().bind("n1", "many");
                    for (int n = 0; n < Effort.times(300); n++) {
                        byte[] request = random(own, own.nextInt(own.nextInt(20) == 0 ? 20_000 : 200));
                        assertThat(client.call(request, Waits.seconds(60))).isEqualTo(request);
                    }
                    done.incrementAndGet();
                };
                // Every other caller runs on a virtual thread, which never polls.
                callers.add(
                        i % 2 == 0
                                ? Thread.ofPlatform().start(body)
                                : Thread.ofVirtual().start(body));
            }
            callers.forEach(RpcContract::joinLong);
            assertThat(done).hasValue(16);
        });
        server.close();
    }

    private static void joinLong(Thread thread) {
        try {
            assertThat(thread.join(Waits.seconds(90))).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void aThousandFunctionsAreServedAtOnce() {
        for (int i = 0; i < 1_000; i++) {
            String name = "f" + i;
            remote.rpc().register(name, 1, call -> MemorySegment.ofArray(bytes(name)));
        }
        for (int i = 0; i < 1_000; i += 1_000 / Effort.times(1_000)) {
            assertThat(caller.rpc().call("n1", "f" + i, new byte[0], GENEROUS))
                    .asString()
                    .isEqualTo("f" + i);
        }
    }

    @Test
    void aFunctionBelongsToOnePrincipal() {
        RpcServer server = remote.rpc().serve("mine");
        try (Lite same = cluster.attach(1);
                Lite other = cluster.node(1).attach("other")) {
            same.rpc().serve("mine").close();
            assertThatThrownBy(() -> other.rpc().serve("mine")).isInstanceOf(LmrPermissionException.class);
        }
        server.close();
    }

    @Test
    void theEndOfASessionEndsItsServersAndPorts() {
        Lite session = cluster.attach(1);
        RpcServer server = session.rpc().serve("f");
        RpcMessages port = session.rpc().messages("p");
        CompletableFuture<byte[]> waiting = caller.rpc().callAsync("n1", "f", new byte[0], GENEROUS);
        session.close();
        assertThatThrownBy(waiting::join).cause().isInstanceOf(RpcFailedException.class);
        assertThatThrownBy(() -> server.receive(SHORT)).isInstanceOf(SessionLostException.class);
        assertThatThrownBy(() -> port.receive(GENEROUS)).isInstanceOf(SessionLostException.class);
        assertThatThrownBy(() -> session.rpc().call("n1", "f", new byte[0], GENEROUS))
                .isInstanceOf(SessionLostException.class);
    }

    @Test
    void aReceiveWithoutACallEndsAtItsDeadline() {
        RpcServer server = remote.rpc().serve("quiet");
        long startNs = System.nanoTime();
        assertThatThrownBy(() -> server.receive(SHORT)).isInstanceOf(LiteTimeoutException.class);
        assertThat(System.nanoTime() - startNs)
                .isBetween(SHORT.toNanos(), SHORT.plus(Waits.seconds(5)).toNanos());
        assertThatThrownBy(() -> caller.rpc().call("n1", "quiet", new byte[0], Waits.seconds(2)))
                .isInstanceOf(LiteTimeoutException.class)
                .hasMessageContaining("quiet");
        server.close();
    }

    @Test
    void aMulticastReturnsAnOutcomeForEveryNodeEvenAMissingOne() {
        for (Lite at : List.of(caller, remote)) {
            at.rpc().register("name", 1, call -> MemorySegment.ofArray(bytes(at.nodeName())));
        }
        Map<String, RpcOutcome> outcomes =
                caller.rpc().multicast(List.of("n1", "gone", "n0"), "name", new byte[0], GENEROUS);
        assertThat(outcomes.keySet()).containsExactly("n1", "gone", "n0");
        assertThat(of(outcomes, "n1").get()).asString().isEqualTo("n1");
        assertThat(of(outcomes, "n0").get()).asString().isEqualTo("n0");
        assertThat(of(outcomes, "gone").failure()).isInstanceOf(NodeUnreachableException.class);
    }

    private static RpcOutcome of(Map<String, RpcOutcome> outcomes, String node) {
        return Objects.requireNonNull(outcomes.get(node));
    }

    @Test
    void messagesArriveInOrderWithTheirSender() {
        for (Lite at : List.of(caller, remote)) {
            try (RpcMessages port = at.rpc().messages("in")) {
                for (int i = 0; i < 100; i++) {
                    caller.rpc().send(at.nodeName(), "in", MemorySegment.ofArray(bytes("m" + i)), GENEROUS);
                }
                for (int i = 0; i < 100; i++) {
                    RpcMessages.Message message = port.receive(GENEROUS);
                    assertThat(message.data()).asString().isEqualTo("m" + i);
                    assertThat(message.senderNode()).isEqualTo("n0");
                    assertThat(message.senderPrincipal()).isEqualTo("app");
                }
                assertThatThrownBy(() -> port.receive(SHORT)).isInstanceOf(LiteTimeoutException.class);
            }
        }
    }

    @Test
    void aFullPortBlocksTheSenderAndAClosedOneRefusesIt() {
        RpcMessages port = remote.rpc().messages("in");
        MemorySegment message = MemorySegment.ofArray(new byte[100]);
        int sent = 0;
        LiteTimeoutException full = null;
        while (full == null && sent < 10_000) {
            try {
                caller.rpc().send("n1", "in", message, Waits.seconds(2));
                sent++;
            } catch (LiteTimeoutException e) {
                full = e;
            }
        }
        assertThat(sent).isEqualTo(256);
        port.receive(GENEROUS);
        port.receive(GENEROUS);
        caller.rpc().send("n1", "in", message, GENEROUS);
        port.close();
        assertThatThrownBy(() -> caller.rpc().send("n1", "in", message, GENEROUS))
                .isInstanceOf(RpcFailedException.class);
        assertThatThrownBy(() -> caller.rpc().send("n1", "never", message, GENEROUS))
                .isInstanceOf(RpcFailedException.class);
    }

    @Test
    void aStoppedNodeFailsItsOutstandingCallsOnce() {
        remote.rpc().serve("held");
        CompletableFuture<byte[]> held = caller.rpc().callAsync("n1", "held", new byte[0], Waits.seconds(60));
        Waits.pass(SHORT);
        cluster.stop("n1");
        assertThatThrownBy(held::join)
                .cause()
                .asInstanceOf(throwable(RuntimeException.class))
                .isInstanceOfAny(NodeUnreachableException.class, RpcFailedException.class);
        assertThatThrownBy(() -> caller.rpc().call("n1", "held", new byte[0], SHORT))
                .isInstanceOf(NodeUnreachableException.class);

        cluster.start("n1");
        cluster.awaitConnections();
        try (Lite again = cluster.attach(1)) {
            echo(again.rpc().serve("held"));
            assertThat(caller.rpc().call("n1", "held", bytes("back"), GENEROUS))
                    .asString()
                    .isEqualTo("back");
        }
    }
}

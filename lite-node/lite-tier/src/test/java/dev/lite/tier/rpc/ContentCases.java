package dev.lite.tier.rpc;

import static dev.lite.tier.rpc.RpcContract.GENEROUS;
import static dev.lite.tier.rpc.RpcContract.LENGTHS;
import static dev.lite.tier.rpc.RpcContract.bytes;
import static dev.lite.tier.rpc.RpcContract.random;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.LtRpc;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcServer;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.CallContexts;
import dev.lite.tier.testing.Effort;
import dev.lite.tier.testing.Seeds;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What calls carry arrives whole, with its caller. */
interface ContentCases extends RpcCases {
    @Test
    default void aCallGetsItsReplyFromARemoteAndTheLocalNode() {
        for (int server = 0; server < 2; server++) {
            echo((server == 0 ? caller() : remote()).rpc().serve("echo"));
            byte[] reply = caller().rpc().call("n" + server, "echo", bytes("hello"), GENEROUS);
            assertThat(reply).asString().isEqualTo("hello");
        }
    }

    @Test
    default void requestsAndRepliesOfEveryLengthArriveWhole() {
        echo(caller().rpc().serve("echo"));
        echo(remote().rpc().serve("echo"));
        Seeds.forEach(1, random -> {
            for (int length : LENGTHS) {
                byte[] request = random(random, length);
                for (String node : List.of("n0", "n1")) {
                    assertThat(caller().rpc().call(node, "echo", request, GENEROUS))
                            .as("%d bytes from %s", length, node)
                            .isEqualTo(request);
                }
            }
            for (int i = 0; i < 400; i++) { // enough to wrap the ring many times, with every padding
                byte[] request = random(random, random.nextInt(2100));
                assertThat(caller().rpc().call("n1", "echo", request, GENEROUS)).isEqualTo(request);
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
    default void requestAndReplyMayHaveDifferentLengths() {
        for (Lite at : List.of(caller(), remote())) {
            RpcServer server = at.rpc().register("length", 1, ContentCases::ofAskedLength);
            RpcClient client = caller().rpc().bind(at.nodeName(), "length");
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
    default void repliesThatAreLongerThanBeforeArriveWhole() {
        remote().rpc().register("length", 4, ContentCases::ofAskedLength);
        RpcClient client = caller().rpc().bind("n1", "length");
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
    default void aMessageOfMoreThan64KiBIsRefusedWithTheLimit() {
        int tooLong = LtRpc.MESSAGE_BYTES_MAX + 1;
        for (Lite at : List.of(caller(), remote())) {
            RpcServer server = at.rpc().register("length", 1, ContentCases::ofAskedLength);
            RpcClient client = caller().rpc().bind(at.nodeName(), "length");
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
    default void aCallKnowsItsCaller() {
        RpcServer server = remote().rpc()
                .register(
                        "who",
                        1,
                        call -> MemorySegment.ofArray(bytes(call.callerNode() + " " + call.callerPrincipal())));
        assertThat(caller().rpc().call("n1", "who", new byte[0], GENEROUS))
                .asString()
                .isEqualTo("n0 app");
        assertThat(remote().rpc().call("n1", "who", new byte[0], GENEROUS))
                .asString()
                .isEqualTo("n1 app");
        try (Lite other = cluster().node(0).attach("other")) {
            assertThat(other.rpc().call("n1", "who", new byte[0], GENEROUS))
                    .asString()
                    .isEqualTo("n0 other");
        }
        server.close();
    }

    @Test
    default void aContextReachesTheServerBesideItsRequest() {
        for (Lite at : List.of(caller(), remote())) {
            new CallContexts(caller(), at).check();
        }
    }

    @Test
    default void sixteenCallersAndFourServersExchangeTheirOwnMessages() {
        RpcServer server = remote().rpc().serve("many");
        for (int i = 0; i < 4; i++) {
            echo(server);
        }
        Seeds.forEach(1, random -> {
            List<Thread> callers = new ArrayList<>();
            AtomicInteger done = new AtomicInteger();
            for (int i = 0; i < 16; i++) {
                Random own = new Random(random.nextLong());
                Runnable body = () -> {
                    RpcClient client = caller().rpc().bind("n1", "many");
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
            callers.forEach(ContentCases::joinLong);
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
    default void aThousandFunctionsAreServedAtOnce() {
        for (int i = 0; i < 1_000; i++) {
            String name = "f" + i;
            remote().rpc().register(name, 1, call -> MemorySegment.ofArray(bytes(name)));
        }
        for (int i = 0; i < 1_000; i += 1_000 / Effort.times(1_000)) {
            assertThat(caller().rpc().call("n1", "f" + i, new byte[0], GENEROUS))
                    .asString()
                    .isEqualTo("f" + i);
        }
    }
}

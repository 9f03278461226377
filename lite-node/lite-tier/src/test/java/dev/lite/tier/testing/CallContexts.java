package dev.lite.tier.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.LtRpc;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcServer;
import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** The contexts of requests, whatever way the requests take. */
public final class CallContexts {
    private static final Duration GENEROUS = Waits.seconds(15);
    private static final List<String> CONTEXTS =
            List.of("x", "00-4bf92f3577b34da6-01", "ü".repeat(256), "c".repeat(512));
    /** Around the longest request that travels in a ring, and the longest with a context. */
    private static final int[] LENGTHS = {0, 1, 7, 500, 1535, 1536, 1537, 2047, 2048, 2049, 8192, 65_536 - 513};

    private final Lite caller;
    private final Lite server;

    /** @param server may be the caller */
    public CallContexts(Lite caller, Lite server) {
        this.caller = caller;
        this.server = server;
    }

    /** Serves a function that replies with the context and the request; returns its client. */
    public RpcClient serve() {
        RpcServer unused = server.rpc().register("contexts", 4, CallContexts::describe);
        return caller.rpc().bind(server.nodeName(), "contexts");
    }

    private static MemorySegment describe(RpcCall call) {
        return MemorySegment.ofArray((call.context() + ":" + text(call.request())).getBytes(StandardCharsets.UTF_8));
    }

    private static String text(MemorySegment bytes) {
        return new String(bytes.toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
    }

    /** Checks a handler and a server with threads of its own. */
    public void check() {
        check(serve());
        try (RpcServer received = server.rpc().serve("received")) {
            RpcClient client = caller.rpc().bind(server.nodeName(), "received").withContext("first");
            CompletableFuture<byte[]> first = client.callAsync(new byte[] {'a'}, GENEROUS);
            RpcCall call = received.receive(GENEROUS);
            CompletableFuture<byte[]> second = client.withContext("second").callAsync(new byte[] {'b'}, GENEROUS);
            RpcCall next = received.replyAndReceive(call, describe(call), GENEROUS);
            next.reply(describe(next));
            assertThat(first.join()).asString().isEqualTo("first:a");
            assertThat(second.join()).asString().isEqualTo("second:b");
        }
    }

    /** Checks every length by each kind of call. */
    public void check(RpcClient client) {
        MemorySegment reply = MemorySegment.ofArray(new byte[LtRpc.MESSAGE_BYTES_MAX]);
        for (int length : LENGTHS) {
            String text = "r".repeat(length);
            byte[] request = text.getBytes(StandardCharsets.UTF_8);
            for (String context : CONTEXTS) {
                String expected = context + ":" + text;
                RpcClient traced = client.withContext(context);
                assertThat(traced.node()).isEqualTo(client.node());
                assertThat(traced.function()).isEqualTo(client.function());
                assertThat(traced.call(request, GENEROUS)).asString().isEqualTo(expected);
                long bytes = traced.call(MemorySegment.ofArray(request), reply, GENEROUS);
                assertThat(text(reply.asSlice(0, bytes))).isEqualTo(expected);
            }
            assertThat(client.call(request, GENEROUS)).asString().isEqualTo("null:" + text);
        }
        checkManyAtOnce(client);
        checkLimits(client);
    }

    private static void checkManyAtOnce(RpcClient client) {
        List<CompletableFuture<byte[]>> replies = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            RpcClient its = i % 3 == 0 ? client : client.withContext("c" + i);
            replies.add(its.callAsync(("r" + i).getBytes(StandardCharsets.UTF_8), GENEROUS));
        }
        for (int i = 0; i < 100; i++) {
            String context = i % 3 == 0 ? "null" : "c" + i;
            assertThat(replies.get(i).join()).asString().isEqualTo(context + ":r" + i);
        }
    }

    private static void checkLimits(RpcClient client) {
        for (String bad : List.of("", "ü".repeat(256) + "x")) {
            assertThatThrownBy(() -> client.withContext(bad))
                    .isInstanceOf(LimitExceededException.class)
                    .hasMessage("the context of a request has %d bytes of UTF-8; it must have 1 to 512"
                            .formatted(bad.isEmpty() ? 0 : 513));
        }
        RpcClient traced = client.withContext("12345");
        assertThatThrownBy(() -> traced.call(new byte[65_532], GENEROUS))
                .isInstanceOf(LimitExceededException.class)
                .hasMessageContaining("the request has 65532 bytes and a context of 5; the limit is 65536");
        assertThatThrownBy(() -> traced.callAsync(new byte[65_532], GENEROUS).join())
                .cause()
                .isInstanceOf(LimitExceededException.class);
    }
}

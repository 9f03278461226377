package dev.lite.tier.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.Lite;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcHandlerException;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcOutcome;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** What callers get of calls that fail, whatever way the calls take. */
public final class CallFailures {
    private static final Duration GENEROUS = Waits.seconds(15);
    private static final MemorySegment EMPTY = MemorySegment.ofArray(new byte[0]);

    private final Lite caller;
    private final Lite server;

    /** @param server may be the caller */
    public CallFailures(Lite caller, Lite server) {
        this.caller = caller;
        this.server = server;
    }

    /** Serves a function that does what the request says; returns its client. */
    public RpcClient serve() {
        server.rpc().register("failing", 2, call -> switch (text(call.request())) {
            case "on purpose" -> throw new RpcHandlerException(-42, "out of paper");
            case "declined" -> {
                call.decline("the printer is gone");
                throw new RpcHandlerException("answered already");
            }
            case "null" -> nothing();
            case "error" -> throw new AssertionError("secret");
            default -> throw new IllegalStateException("secret");
        });
        return caller.rpc().bind(server.nodeName(), "failing");
    }

    private static String text(MemorySegment bytes) {
        return new String(bytes.toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
    }

    @SuppressWarnings("NullAway") // as a handler that is not checked may return it
    private static MemorySegment nothing() {
        return null;
    }

    /** Checks the failures of calls. */
    public void check() {
        RpcClient client = serve();
        checkHandler(client);
        RpcServer served = server.rpc().serve("served");
        CompletableFuture<byte[]> failed = caller.rpc().callAsync(server.nodeName(), "served", new byte[0], GENEROUS);
        served.receive(GENEROUS).fail(Integer.MAX_VALUE, "not today");
        assertFailed(failure(failed), RpcStatus.HANDLER_FAILED, Integer.MAX_VALUE, "not today");
        CompletableFuture<byte[]> failedPlainly =
                caller.rpc().callAsync(server.nodeName(), "served", new byte[0], GENEROUS);
        served.receive(GENEROUS).fail("nor tomorrow");
        assertFailed(failure(failedPlainly), RpcStatus.HANDLER_FAILED, 0, "nor tomorrow");
        served.close();
        String notServed = "nobody serves the function \"served\" at node " + server.nodeName();
        for (int i = 0; i < 2; i++) {
            assertFailed(
                    failure(caller.rpc().callAsync(server.nodeName(), "served", new byte[0], GENEROUS)),
                    RpcStatus.NOT_SERVED,
                    0,
                    notServed);
        }
        assertFailed(
                catchThrowable(() -> caller.rpc().call(server.nodeName(), "never", new byte[0], GENEROUS)),
                RpcStatus.NOT_SERVED,
                0,
                "nobody serves the function \"never\" at node " + server.nodeName());
    }

    /** Checks the failures of the handler behind {@link #serve}, by each kind of call. */
    public void checkHandler(RpcClient client) {
        checkHandler(client, "on purpose", RpcStatus.HANDLER_FAILED, -42, "out of paper");
        checkHandler(client, "declined", RpcStatus.NOT_SERVED, 0, "the printer is gone");
        checkHandler(client, "null", RpcStatus.HANDLER_FAILED, 0, "the handler returned null; it must return a reply");
        for (String defect : List.of("error", "exception")) {
            checkHandler(
                    client,
                    defect,
                    RpcStatus.HANDLER_FAILED,
                    0,
                    "the handler failed; the log of its application has the cause");
        }
    }

    private void checkHandler(RpcClient client, String request, RpcStatus status, int handlerCode, String message) {
        byte[] bytes = request.getBytes(StandardCharsets.UTF_8);
        assertFailed(catchThrowable(() -> client.call(bytes, GENEROUS)), status, handlerCode, message);
        assertFailed(
                catchThrowable(() -> client.call(MemorySegment.ofArray(bytes), EMPTY, GENEROUS)),
                status,
                handlerCode,
                message);
        assertFailed(failure(client.callAsync(bytes, GENEROUS)), status, handlerCode, message);
        RpcOutcome outcome = caller.rpc()
                .multicast(List.of(client.node()), client.function(), bytes, GENEROUS)
                .get(client.node());
        assertFailed(Objects.requireNonNull(outcome).failure(), status, handlerCode, message);
    }

    /** Checks the failures of messages. */
    public void checkMessages() {
        String node = server.nodeName();
        assertThatThrownBy(() -> caller.rpc().send(node, "unopened", EMPTY, GENEROUS))
                .isInstanceOfSatisfying(
                        RpcFailedException.class, e -> assertThat(e.status()).isEqualTo(RpcStatus.NOT_SERVED))
                .hasMessageContaining("no session has the port \"unopened\" open at node " + node)
                .hasMessage("no session has the port \"unopened\" open at node " + node);
        RpcMessages port = server.rpc().messages("in");
        caller.rpc().send(node, "in", EMPTY, GENEROUS);
        port.close();
        assertThatThrownBy(() -> caller.rpc().send(node, "in", EMPTY, GENEROUS))
                .isInstanceOfSatisfying(
                        RpcFailedException.class, e -> assertThat(e.status()).isEqualTo(RpcStatus.NOT_SERVED))
                .hasMessageContaining("no session has the port \"in\" open at node " + node)
                .hasMessage("no session has the port \"in\" open at node " + node);
    }

    private static @Nullable Throwable failure(CompletableFuture<byte[]> call) {
        Throwable failure = catchThrowable(call::join);
        return failure instanceof CompletionException ? failure.getCause() : failure;
    }

    private static void assertFailed(@Nullable Throwable failure, RpcStatus status, int handlerCode, String message) {
        assertThat(failure).isInstanceOfSatisfying(RpcFailedException.class, e -> {
            assertThat(e.status()).as("%s", e).isEqualTo(status);
            assertThat(e.handlerCode()).as("%s", e).isEqualTo(handlerCode);
            assertThat(e).hasMessageContaining(message);
            assertThat(e.getMessage())
                    .doesNotContain("secret")
                    .doesNotContain("Exception")
                    .doesNotContain("Error");
        });
    }
}

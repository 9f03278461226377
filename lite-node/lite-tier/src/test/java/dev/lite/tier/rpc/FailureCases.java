package dev.lite.tier.rpc;

import static dev.lite.tier.rpc.RpcContract.GENEROUS;
import static dev.lite.tier.rpc.RpcContract.SHORT;
import static dev.lite.tier.rpc.RpcContract.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.throwable;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.CallFailures;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** How calls fail, and that later calls succeed. */
interface FailureCases extends RpcCases {
    @Test
    default void everyFailureHasItsStatus() {
        for (Lite at : List.of(caller(), remote())) {
            CallFailures failures = new CallFailures(caller(), at);
            failures.check();
            failures.checkMessages();
        }
    }

    @Test
    default void aHandlerThatThrowsAnErrorFailsItsCallAndServesTheNext() {
        for (Lite at : List.of(caller(), remote())) {
            RpcServer server = at.rpc().register("broken", 1, call -> {
                throw new AssertionError("out of ideas");
            });
            for (int i = 0; i < 3; i++) { // more calls than serving threads
                assertThatThrownBy(() -> caller().rpc().call(at.nodeName(), "broken", new byte[0], GENEROUS))
                        .isInstanceOf(RpcFailedException.class)
                        .hasMessageContaining("the handler failed");
            }
            server.close();
        }
    }

    @Test
    default void aHandlerThatInterruptsItsThreadServesTheNextCall() {
        for (Lite at : List.of(caller(), remote())) {
            RpcServer server = at.rpc().register("interrupts", 1, call -> {
                Thread.currentThread().interrupt();
                return call.request();
            });
            for (int i = 0; i < 3; i++) {
                assertThat(caller().rpc().call(at.nodeName(), "interrupts", bytes("x"), GENEROUS))
                        .isEqualTo(bytes("x"));
            }
            server.close();
        }
    }

    @Test
    default void callingAFunctionThatNobodyServesFails() {
        for (String node : List.of("n0", "n1")) {
            assertThatThrownBy(() -> caller().rpc().call(node, "nothing", new byte[0], GENEROUS))
                    .isInstanceOf(RpcFailedException.class)
                    .hasMessageContaining("nothing")
                    .hasMessageContaining(node);
        }
        assertThatThrownBy(() -> caller().rpc().call("n9", "nothing", new byte[0], GENEROUS))
                .isInstanceOf(NodeUnreachableException.class);
    }

    @Test
    default void queuedCallsOfAClosedServerFailAndTheFunctionCanBeServedAgain() {
        for (Lite at : List.of(caller(), remote())) {
            RpcServer server = at.rpc().serve("f");
            CompletableFuture<byte[]> waiting = caller().rpc().callAsync(at.nodeName(), "f", bytes("x"), GENEROUS);
            Waits.pass(SHORT);
            server.close();
            assertThatThrownBy(waiting::join).cause().isInstanceOf(RpcFailedException.class);
            assertThatThrownBy(() -> caller().rpc().call(at.nodeName(), "f", bytes("x"), GENEROUS))
                    .isInstanceOf(RpcFailedException.class);
            assertThatThrownBy(() -> server.receive(SHORT)).isInstanceOf(SessionLostException.class);
            echo(at.rpc().serve("f"));
            assertThat(caller().rpc().call(at.nodeName(), "f", bytes("x"), GENEROUS))
                    .isEqualTo(bytes("x"));
        }
    }

    @Test
    default void aReplyThatIsTooLongIsRefusedAndTheCallCanStillBeAnswered() {
        RpcServer server = remote().rpc().serve("f");
        run(() -> {
            RpcCall call = server.receive(GENEROUS);
            assertThatThrownBy(() -> call.reply(new byte[9]))
                    .isInstanceOf(LimitExceededException.class)
                    .hasMessageContaining("9")
                    .hasMessageContaining("8");
            call.reply(new byte[8]);
            assertThatThrownBy(() -> call.reply(new byte[8])).isInstanceOf(IllegalStateException.class);
        });
        RpcClient client = caller().rpc().bind("n1", "f");
        assertThat(client.call(MemorySegment.ofArray(new byte[1]), MemorySegment.ofArray(new byte[8]), GENEROUS))
                .isEqualTo(8);
        assertThatThrownBy(() -> client.call(new byte[LtRpc.MESSAGE_BYTES_MAX + 1], GENEROUS))
                .isInstanceOf(LimitExceededException.class);
    }

    @Test
    default void aFunctionBelongsToOnePrincipal() {
        RpcServer server = remote().rpc().serve("mine");
        try (Lite same = cluster().attach(1);
                Lite other = cluster().node(1).attach("other")) {
            same.rpc().serve("mine").close();
            assertThatThrownBy(() -> other.rpc().serve("mine")).isInstanceOf(LmrPermissionException.class);
        }
        server.close();
    }

    @Test
    default void theEndOfASessionEndsItsServersAndPorts() {
        Lite session = cluster().attach(1);
        RpcServer server = session.rpc().serve("f");
        RpcMessages port = session.rpc().messages("p");
        CompletableFuture<byte[]> waiting = caller().rpc().callAsync("n1", "f", new byte[0], GENEROUS);
        session.close();
        assertThatThrownBy(waiting::join).cause().isInstanceOf(RpcFailedException.class);
        assertThatThrownBy(() -> server.receive(SHORT)).isInstanceOf(SessionLostException.class);
        assertThatThrownBy(() -> port.receive(GENEROUS)).isInstanceOf(SessionLostException.class);
        assertThatThrownBy(() -> session.rpc().call("n1", "f", new byte[0], GENEROUS))
                .isInstanceOf(SessionLostException.class);
    }

    @Test
    default void aStoppedNodeFailsItsOutstandingCallsOnce() {
        remote().rpc().serve("held");
        CompletableFuture<byte[]> held = caller().rpc().callAsync("n1", "held", new byte[0], Waits.seconds(60));
        Waits.pass(SHORT);
        cluster().stop("n1");
        assertThatThrownBy(held::join)
                .cause()
                .asInstanceOf(throwable(RuntimeException.class))
                .isInstanceOfAny(NodeUnreachableException.class, RpcFailedException.class);
        assertThatThrownBy(() -> caller().rpc().call("n1", "held", new byte[0], SHORT))
                .isInstanceOf(NodeUnreachableException.class);

        cluster().start("n1");
        cluster().awaitConnections();
        try (Lite again = cluster().attach(1)) {
            echo(again.rpc().serve("held"));
            assertThat(caller().rpc().call("n1", "held", bytes("back"), GENEROUS))
                    .asString()
                    .isEqualTo("back");
        }
    }
}

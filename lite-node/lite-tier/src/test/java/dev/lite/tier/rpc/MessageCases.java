package dev.lite.tier.rpc;

import static dev.lite.tier.rpc.RpcContract.GENEROUS;
import static dev.lite.tier.rpc.RpcContract.SHORT;
import static dev.lite.tier.rpc.RpcContract.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcOutcome;
import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Multicast calls, and messages to ports. */
interface MessageCases extends RpcCases {
    @Test
    default void aMulticastReturnsAnOutcomeForEveryNodeEvenAMissingOne() {
        for (Lite at : List.of(caller(), remote())) {
            at.rpc().register("name", 1, call -> MemorySegment.ofArray(bytes(at.nodeName())));
        }
        Map<String, RpcOutcome> outcomes =
                caller().rpc().multicast(List.of("n1", "gone", "n0"), "name", new byte[0], GENEROUS);
        assertThat(outcomes.keySet()).containsExactly("n1", "gone", "n0");
        assertThat(of(outcomes, "n1").get()).asString().isEqualTo("n1");
        assertThat(of(outcomes, "n0").get()).asString().isEqualTo("n0");
        assertThat(of(outcomes, "gone").failure()).isInstanceOf(NodeUnreachableException.class);
    }

    private static RpcOutcome of(Map<String, RpcOutcome> outcomes, String node) {
        return Objects.requireNonNull(outcomes.get(node));
    }

    @Test
    default void messagesArriveInOrderWithTheirSender() {
        for (Lite at : List.of(caller(), remote())) {
            try (RpcMessages port = at.rpc().messages("in")) {
                for (int i = 0; i < 100; i++) {
                    caller().rpc().send(at.nodeName(), "in", MemorySegment.ofArray(bytes("m" + i)), GENEROUS);
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
    default void aFullPortBlocksTheSenderAndAClosedOneRefusesIt() {
        RpcMessages port = remote().rpc().messages("in");
        MemorySegment message = MemorySegment.ofArray(new byte[100]);
        for (int sent = 0; sent < 256; sent++) {
            caller().rpc().send("n1", "in", message, GENEROUS);
        }
        assertThatThrownBy(() -> caller().rpc().send("n1", "in", message, Waits.seconds(0.5)))
                .isInstanceOf(LiteTimeoutException.class)
                .hasMessageContaining("the queue of the port may be full");
        port.receive(GENEROUS);
        port.receive(GENEROUS);
        caller().rpc().send("n1", "in", message, GENEROUS);
        port.close();
        assertThatThrownBy(() -> caller().rpc().send("n1", "in", message, GENEROUS))
                .isInstanceOf(RpcFailedException.class);
        assertThatThrownBy(() -> caller().rpc().send("n1", "never", message, GENEROUS))
                .isInstanceOf(RpcFailedException.class);
    }
}

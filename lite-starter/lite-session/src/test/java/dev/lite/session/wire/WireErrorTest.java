package dev.lite.session.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LiteException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class WireErrorTest {
    private static final int RPC_FAILED = LiteException.Code.RPC_FAILED.number();

    private static void assertIs(LiteException error, RpcStatus status, int handlerCode, String message) {
        assertThat(error).hasMessage(message).isInstanceOfSatisfying(RpcFailedException.class, e -> {
            assertThat(e.status()).isEqualTo(status);
            assertThat(e.handlerCode()).isEqualTo(handlerCode);
        });
    }

    @Test
    void everyStatusSurvivesTheWire() {
        for (RpcStatus status : RpcStatus.values()) {
            byte[] bytes = WireError.bytes(new RpcFailedException(status, Integer.MIN_VALUE, "why", null), 100);
            assertIs(WireError.exception(RPC_FAILED, bytes, "f"), status, Integer.MIN_VALUE, "f: why");
        }
    }

    @Test
    void aMessageThatNamesWhatFailedIsNotPrecededByTheSameWords() {
        String message = "nobody serves the function \"f\" at node n1";
        byte[] bytes = WireError.bytes(RpcStatus.NOT_SERVED, 0, message, 100);
        assertIs(WireError.exception(RPC_FAILED, bytes, "function \"f\" at node n1"), RpcStatus.NOT_SERVED, 0, message);
    }

    @Test
    void aMessageThatNamesWhatFailedAndWhereInOtherWordsIsNotPrecededByThem() {
        String message = "no session has the port \"p\" open at node n1";
        byte[] bytes = WireError.bytes(RpcStatus.NOT_SERVED, 0, message, 100);
        assertIs(WireError.exception(RPC_FAILED, bytes, "port \"p\"", "at node n1"), RpcStatus.NOT_SERVED, 0, message);
        assertIs(
                WireError.exception(RPC_FAILED, bytes, "port \"p\"", "at node n2"),
                RpcStatus.NOT_SERVED,
                0,
                "port \"p\" at node n2: " + message);
    }

    @Test
    void theNumbersNeverChange() {
        byte[] bytes = WireError.bytes(RpcStatus.CANCELLED, 0x01020304, "x", 100);
        assertThat(bytes).containsExactly(5, 0, 0, 0, 4, 3, 2, 1, 'x');
        assertThat(RPC_FAILED).isEqualTo(12);
        assertThat(RpcStatus.values()).extracting(RpcStatus::number).containsExactly(0, 1, 2, 3, 4, 5);
    }

    @Test
    void aStatusOfANewerPeerIsUnknownAndIsNamed() {
        byte[] bytes = {77, 0, 0, 0, 9, 0, 0, 0, 'n', 'o'};
        assertIs(WireError.exception(RPC_FAILED, bytes, "f"), RpcStatus.UNKNOWN, 9, "unknown status 77: f: no");
        assertIs(WireError.exception(RPC_FAILED, new byte[] {'n', 'o'}, ""), RpcStatus.UNKNOWN, 0, "no");
    }

    @Test
    void otherErrorsHaveOnlyTheirMessage() {
        byte[] bytes = WireError.bytes(new LmrFreedException("was freed"), 100);
        assertThat(bytes).asString(StandardCharsets.UTF_8).isEqualTo("was freed");
        assertThat(WireError.exception(LiteException.Code.LMR_FREED.number(), bytes, "h"))
                .isInstanceOf(LmrFreedException.class)
                .hasMessage("h: was freed");
    }

    @Test
    void aLongMessageIsCut() {
        assertThat(WireError.bytes(RpcStatus.REFUSED, 0, "ü".repeat(100), 29)).hasSize(28);
    }
}

package dev.lite.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.FabricError;
import dev.lite.fabric.Post;
import dev.lite.testing.Certificates;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A send that fails in a way that neither the socket nor the peer explains. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SendFailureTest {
    private static final long NO_ADDRESS = -8192;
    /** Longer than an inline payload: the send uses the address. */
    private static final int LONG_BYTES = 4096;

    @TempDir
    static Path directory;

    @Test
    void anUnexpectedExceptionOfASendEndsTheLaneAndNobodyWaitsForThatSend() {
        try (var arena = Arena.ofConfined()) {
            var wire = new CountingWire(arena);
            var reasons = new ArrayList<String>();
            var outbound = new Outbound(wire, recording(reasons), arena);
            wire.failure = new IllegalStateException("a defect");

            assertThat(post(outbound)).as("it ends by a completion").isEqualTo(Post.ACCEPTED);

            assertThat(reasons).singleElement().asString().contains("IllegalStateException", "a defect");
            wire.failure = null;
            assertThat(post(outbound)).isEqualTo(Post.CLOSED);
            outbound.send();
            outbound.close();
            assertThat(wire.numbers()).as("sent after the failure").isEmpty();
            assertThat(outbound.operations.end()).as("outstanding").isEqualTo(1);
            assertThat(outbound.operations.isEmpty()).isTrue();
        }
    }

    @Test
    void aConnectionWhoseSendFailsEndsWithThatErrorAndEndsEachPostOnce() {
        var tls = Certificates.make(directory, "ours");
        try (var a = new TestNode("a", tls, "lanes", "1");
                var b = new TestNode("b", tls, "lanes", "1")) {
            var toA = b.connectTo(a);
            assertThat(toA.read(0, b.address(), 8, 1)).isEqualTo(Post.ACCEPTED);
            // TLS reads the payload in Java, which refuses the address.
            assertThat(toA.write(0, NO_ADDRESS, LONG_BYTES, 2)).isEqualTo(Post.ACCEPTED);

            TestNode.until("ended", () -> b.disconnected.containsKey(toA), b);

            assertThat(b.disconnected.get(toA)).contains("IndexOutOfBoundsException");
            assertThat(b.completed).isEmpty();
            assertThat(b.failed).containsOnlyKeys(1L, 2L).containsValue(FabricError.FLUSHED);
            assertThat(b.failures).as("each once").isEqualTo(2);
            toA.close();
            TestNode.until("the peer sees it", () -> !a.disconnected.isEmpty(), a, b);
            b.connectTo(a);
        }
    }

    private static Post post(Outbound outbound) {
        return outbound.post(Frame.WRITE_IMM, 0, 0, 0, 1, 0, 0, 1, false);
    }

    private static Outbound.Trouble recording(List<String> reasons) {
        return new CombiningTest.Left(false) {
            @Override
            public void broken(String reason) {
                reasons.add(reason);
            }
        };
    }
}

package dev.lite.fabric.tcp;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

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

/** A send or a receive that fails in a way that neither the socket nor the peer explains. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SendFailureTest {
    private static final long NO_ADDRESS = -8192;
    /** Only an empty range begins here. */
    private static final long NO_ROOM = Long.MAX_VALUE - 4;
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

    /** Else the answer to each later read would be taken for the answer to the one before. */
    @Test
    void aPostThatFailsIsNotCounted() {
        try (var a = new TestNode("a", "lanes", "1");
                var b = new TestNode("b", "lanes", "1")) {
            var toA = b.connectTo(a);
            for (int i = 0; i < 3; i++) {
                a.memory.setAtIndex(JAVA_LONG, i, 100 + i);
            }
            assertThatExceptionOfType(IndexOutOfBoundsException.class)
                    .isThrownBy(() -> toA.read(0, NO_ADDRESS, Long.BYTES, 7));
            for (int i = 0; i < 3; i++) {
                long at = (long) i * Long.BYTES;
                assertThat(toA.read(at, b.address() + at, Long.BYTES, i)).isEqualTo(Post.ACCEPTED);
            }
            TestNode.until("all ended", () -> b.completed.size() + b.failures == 3, b, a);
            assertThat(b.completed).containsExactly(0L, 1L, 2L);
            assertThat(b.memory.asSlice(0, 3 * Long.BYTES).toArray(JAVA_LONG)).containsExactly(100, 101, 102);
        }
    }

    /** Else each poll would fail again, or continue after half a frame: later answers would belong to other reads. */
    @Test
    void aConnectionOnWhichTheExecutionOfAFrameFailsEnds() {
        try (var a = new TestNode("a", "lanes", "1");
                var b = new TestNode("b", "lanes", "1")) {
            var toA = b.connectTo(a);
            assertThat(toA.read(0, NO_ROOM, Long.BYTES, 1)).isEqualTo(Post.ACCEPTED);
            assertThat(toA.read(0, b.address(), Long.BYTES, 2)).isEqualTo(Post.ACCEPTED);

            // The tier's polling thread logs such a failure and continues.
            assertThatExceptionOfType(IndexOutOfBoundsException.class)
                    .isThrownBy(() -> TestNode.until("it fails", () -> false, b, a));
            TestNode.until("ended", () -> b.disconnected.containsKey(toA), b, a);

            assertThat(b.disconnected.get(toA)).contains("IndexOutOfBoundsException");
            assertThat(b.failed).containsOnlyKeys(1L, 2L).containsValue(FabricError.FLUSHED);
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

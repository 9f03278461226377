package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.SessionLostException;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node in its own process. */
class KilledNodeTest {
    @TempDir
    Path directory;

    @Test
    void theDeathOfTheNodeEndsEveryCallAndANewNodeAcceptsSessions() throws Exception {
        Path socket = directory.resolve("s");
        Process node = startNode(socket);
        try (Lite lite = attach(socket, node)) {
            LmrHandle lmr = lite.memory().malloc(LmrSpec.of(1 << 20));
            AtomicReference<Throwable> ofMalloc = new AtomicReference<>();
            AtomicReference<Throwable> ofReads = new AtomicReference<>();
            // One operation waits for an answer that never comes, the other is interrupted in the middle of its
            // transfers.
            Thread waiting = Thread.ofPlatform()
                    .start(() -> ofMalloc.set(catchThrowable(
                            () -> lite.memory().malloc(LmrSpec.of(8).withName("slow")))));
            Thread reading = Thread.ofPlatform()
                    .start(() -> ofReads.set(catchThrowable(() -> {
                        byte[] data = new byte[1 << 20];
                        while (true) {
                            lmr.read(0, data);
                            lmr.fetchAdd(0, 1);
                        }
                    })));
            Waits.until("transfers are under way", () -> lmr.fetchAdd(0, 0) > 5);
            node.destroyForcibly();
            assertThat(node.waitFor(10, TimeUnit.SECONDS)).isTrue();
            assertThat(waiting.join(Waits.scaled(Duration.ofSeconds(5)))).isTrue();
            assertThat(reading.join(Waits.scaled(Duration.ofSeconds(5)))).isTrue();
            for (Throwable one : List.of(ofMalloc.get(), ofReads.get())) {
                assertThat(one)
                        .isInstanceOf(SessionLostException.class)
                        .hasMessageContaining(socket.toString())
                        .hasMessageContaining("stopped or died");
            }
            assertThat(lite.isOpen()).isFalse();
            assertThatExceptionOfType(NodeUnreachableException.class)
                    .isThrownBy(() -> Lite.attach(AttachOptions.to(socket, "too early")))
                    .withMessageContaining("no process listens there any more");
        } finally {
            node.destroyForcibly();
        }
        Process restarted = startNode(socket);
        try (Lite lite = attach(socket, restarted)) {
            assertThat(lite.memory().malloc(LmrSpec.of(8)).fetchAdd(0, 1)).isZero();
        } finally {
            restarted.destroyForcibly();
        }
    }

    private static Lite attach(Path socket, Process node) {
        AtomicReference<Lite> attached = new AtomicReference<>();
        Waits.until("the node listens", () -> {
            assertThat(node.isAlive()).isTrue();
            if (!Files.exists(socket)) {
                return false;
            }
            try {
                attached.set(Lite.attach(AttachOptions.to(socket, "test")));
                return true;
            } catch (NodeUnreachableException notYet) {
                return false;
            }
        });
        return attached.get();
    }

    private static Process startNode(Path socket) throws IOException {
        return new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:+UseSerialGC",
                        "-Xmx64m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Node.class.getName(),
                        socket.toString()))
                .inheritIO()
                .start();
    }

    /** The node that is killed. It ends by itself after a minute. */
    static final class Node {
        private Node() {}

        public static void main(String[] arguments) {
            try (FakeBackend backend = new FakeBackend();
                    SessionServer server = new SessionServer(SessionServerConfig.of(Path.of(arguments[0])), backend)) {
                server.start();
                Waits.pass(Duration.ofMinutes(1));
            }
        }
    }
}

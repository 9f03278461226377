package dev.lite.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.FabricError;
import dev.lite.fabric.Post;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A peer in its own process. */
class PeerProcessTest {

    /** Polls until it is killed. */
    static final class Peer {
        private Peer() {}

        public static void main(String[] arguments) {
            try (var node = new TestNode("peer")) {
                System.out.println(node.fabric.localAddress());
                while (true) {
                    if (node.fabric.poll(16) == 0) {
                        node.fabric.await(TestNode.nanos(1));
                    }
                }
            }
        }
    }

    @Test
    void aKilledPeerEndsEveryPostOnceAndIsDisconnected() throws IOException {
        var process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-Xmx64m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Peer.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (var a = new TestNode("a");
                var output = process.inputReader(StandardCharsets.UTF_8)) {
            var toPeer = a.fabric.connect(output.readLine());
            TestNode.until("connected", () -> a.connected.contains(toPeer), a);
            int posts = 0;
            while (posts < 500) {
                if (toPeer.write(0, a.address(), 1 << 20, posts) == Post.ACCEPTED) {
                    posts++;
                } else {
                    a.fabric.poll(16);
                }
            }
            // A fast peer could have executed all posts already, so it is stopped to leave some outstanding.
            stop(process);
            while (a.fabric.poll(16) > 0) {
                // completions of operations that it executed before
            }
            int taken = posts + (toPeer.write(0, a.address(), 1 << 20, posts) == Post.ACCEPTED ? 1 : 0);

            process.destroyForcibly();

            TestNode.until("gone", () -> a.disconnected.containsKey(toPeer), a);
            assertThat(a.completed.size() + a.failed.size()).isEqualTo(taken);
            assertThat(a.failed.values()).isNotEmpty().containsOnly(FabricError.FLUSHED);
            assertThat(toPeer.write(0, a.address(), 8, 0)).isEqualTo(Post.CLOSED);
        } finally {
            process.destroyForcibly();
        }
    }

    private static void stop(Process process) throws IOException {
        var signal = new ProcessBuilder("kill", "-STOP", Long.toString(process.pid())).start();
        boolean done = signal.onExit()
                        .orTimeout(TestNode.nanos(4), TimeUnit.NANOSECONDS)
                        .join()
                        .exitValue()
                == 0;
        assertThat(done).as("the peer was stopped").isTrue();
    }
}

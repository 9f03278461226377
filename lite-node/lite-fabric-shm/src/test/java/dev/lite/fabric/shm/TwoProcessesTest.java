package dev.lite.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TwoProcessesTest {
    @TempDir
    Path directory;

    /** The other node's process, and the address that it printed. */
    record Peer(Process process, String address) implements AutoCloseable {
        static Peer start(Path directory) throws IOException {
            var process = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "--enable-native-access=ALL-UNNAMED",
                            "-XX:+UseSerialGC",
                            "-XX:TieredStopAtLevel=1",
                            "-Xmx64m",
                            "-cp",
                            System.getProperty("java.class.path"),
                            PeerJvm.class.getName(),
                            directory.toString())
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            var address = process.inputReader(StandardCharsets.UTF_8).readLine();
            return new Peer(process, address == null ? "" : address);
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }

    @Test
    void immediatesWakeSleepingProcessesInBothDirections() throws IOException, InterruptedException {
        try (var a = new TestNode(directory, "a");
                var peer = Peer.start(directory)) {
            var toPeer = a.fabric.connect(peer.address());
            TestNode.until("connected", () -> a.connected.contains(toPeer), a);
            long sum = 0;
            for (int i = 1; i <= 500; i++) {
                sum += i;
                int expected = i;
                assertThat(toPeer.writeImm(0, a.address(), 0, i, 0)).isEqualTo(Post.DONE);
                while (a.immediates.size() < expected) {
                    a.fabric.await(TestNode.nanos(20));
                    a.fabric.poll(1);
                }
                assertThat(a.immediates.getLast()).isEqualTo(i);
                // The data that the peer wrote into this memory with its immediate, and the same word read from the
                // peer.
                assertThat(RawMemory.getLong(a.address() + 8)).isEqualTo(sum);
                assertThat(toPeer.read(0, a.address() + 16, 8, 0)).isEqualTo(Post.DONE);
                assertThat(RawMemory.getLong(a.address() + 16)).isEqualTo(sum);
            }
            toPeer.writeImm(0, a.address(), 0, 0, 0);
            assertThat(peer.process().waitFor(TestNode.nanos(20), TimeUnit.NANOSECONDS))
                    .isTrue();
            assertThat(peer.process().exitValue()).isZero();
            TestNode.until("gone", () -> a.disconnected.contains(toPeer), a);
        }
    }

    @Test
    void noAddOfTwoProcessesToOneWordIsLost() throws IOException {
        try (var a = new TestNode(directory, "a");
                var peer = Peer.start(directory)) {
            var toPeer = a.fabric.connect(peer.address());
            TestNode.until("connected", () -> a.connected.contains(toPeer), a);
            for (int i = 0; i < 5_000; i++) {
                while (toPeer.writeImm(0, a.address(), 0, 1, 0) == Post.BUSY) {
                    Thread.onSpinWait();
                }
                assertThat(toPeer.fetchAdd(0, 1, a.address() + 64, 0)).isEqualTo(Post.DONE);
                a.fabric.poll(16);
            }
            TestNode.until("all answered", () -> a.immediates.size() == 5_000, a);
            assertThat(RawMemory.getLongVolatile(toPeer.mappedAddress())).isEqualTo(10_000);
        }
    }

    @Test
    void aKilledPeerIsDisconnectedAndItsMemoryStaysReadable() throws IOException {
        try (var a = new TestNode(directory, "a");
                var peer = Peer.start(directory)) {
            var toPeer = a.fabric.connect(peer.address());
            TestNode.until("connected", () -> a.connected.contains(toPeer), a);
            RawMemory.putLong(a.address(), 4711);
            assertThat(toPeer.write(TestNode.MEMORY_BYTES - 8, a.address(), 8, 0))
                    .isEqualTo(Post.DONE);
            peer.process().destroyForcibly();
            // The poller sleeps, so this also checks that the end of the connection rings the doorbell.
            long start = System.nanoTime();
            while (a.disconnected.isEmpty()) {
                a.fabric.await(TestNode.nanos(20));
                a.fabric.poll(1);
            }
            assertThat(System.nanoTime() - start).isLessThan(TestNode.nanos(10));
            assertThat(a.disconnected).containsExactly(toPeer);
            assertThat(a.reasons.getFirst())
                    .contains("process " + peer.process().pid())
                    .contains(peer.address());
            assertThat(toPeer.write(0, a.address(), 8, 0)).isEqualTo(Post.CLOSED);
            assertThat(RawMemory.getLong(toPeer.mappedAddress() + TestNode.MEMORY_BYTES - 8))
                    .isEqualTo(4711);
        }
    }

    @Test
    void aPeerThatClosedItsFabricNoLongerMapsTheMemoryThoughItsProcessLives() throws IOException {
        try (var a = new TestNode(directory, "a");
                var peer = Peer.start(directory)) {
            var toPeer = a.fabric.connect(peer.address());
            TestNode.until("connected", () -> a.connected.contains(toPeer), a);
            assertThat(toPeer.isMappedByPeer()).isTrue();
            assertThat(toPeer.writeImm(0, a.address(), 0, -1, 0)).isEqualTo(Post.DONE);
            TestNode.until("gone", () -> a.disconnected.contains(toPeer), a);
            TestNode.until("unmapped", () -> !toPeer.isMappedByPeer(), a);
            assertThat(peer.process().isAlive()).isTrue();
        }
    }

    @Test
    void theSuccessorOfAKilledPeerCanUseItsAddress() throws IOException, InterruptedException {
        try (var a = new TestNode(directory, "a")) {
            String address;
            try (var first = Peer.start(directory)) {
                address = first.address();
                var toFirst = a.fabric.connect(address);
                TestNode.until("connected", () -> a.connected.contains(toFirst), a);
                first.process().destroyForcibly().waitFor();
            }
            TestNode.until("gone", () -> a.disconnected.size() == 1, a);
            try (var second = Peer.start(directory)) {
                assertThat(second.address()).isEqualTo(address);
                var toSecond = a.fabric.connect(address);
                TestNode.until("connected", () -> a.connected.contains(toSecond), a);
                assertThat(toSecond.writeImm(0, a.address(), 0, 5, 0)).isEqualTo(Post.DONE);
                TestNode.until("answered", () -> a.immediates.contains(5), a);
            }
        }
    }
}

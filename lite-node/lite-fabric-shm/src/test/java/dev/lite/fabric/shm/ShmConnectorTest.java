package dev.lite.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.conformance.IgnoringHandler;
import dev.lite.fabric.driver.ConnectionLimits;
import dev.lite.fabric.driver.Connections;
import dev.lite.os.SharedMemory;
import dev.lite.os.UnixServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The threads of accepted connections, when the process has no memory left. */
class ShmConnectorTest {
    @TempDir
    Path directory;

    private final List<String> calls = new ArrayList<>();

    /** It fails once, when the connection is made. */
    private static final class FailingDriver implements Connections.Driver<ShmEndpoint, ShmLink> {
        final AtomicBoolean fails = new AtomicBoolean(true);

        @Override
        public void opened(ShmEndpoint endpoint, ShmLink link) {
            endpoint.openGate();
        }

        @Override
        public boolean ended(ShmEndpoint endpoint) {
            return true;
        }

        @Override
        public void finished(ShmEndpoint endpoint) {
            var link = endpoint.link();
            if (link != null) {
                link.release();
            }
        }

        @Override
        public void discard(ShmLink link) {
            link.release();
        }

        @Override
        public void wake() {
            if (fails.getAndSet(false)) {
                throw new OutOfMemoryError("no memory left, on purpose");
            }
        }
    }

    private final class Recorder implements IgnoringHandler {
        @Override
        public void connected(FabricEndpoint endpoint, boolean accepted) {
            calls.add("accepted");
        }

        @Override
        public void disconnected(FabricEndpoint endpoint, String reason) {
            calls.add("disconnected: " + reason);
        }
    }

    /** Nobody would notice the end of its peer, and its place would stay taken. */
    @Test
    void anAcceptedConnectionEndsIfItsThreadFails() {
        var connections = new Connections<ShmEndpoint, ShmLink>(
                "shm", "a", new ConnectionLimits(1, 10_000), new Recorder(), new FailingDriver());
        Path address = directory.resolve("socket");
        try (var memory = SharedMemory.createMemfd("arena", TestNode.MEMORY_BYTES);
                var doorbell = Doorbell.create();
                var peer = new TestNode(directory, "b")) {
            var peers = new PeerMemories();
            var offered = new FabricMemory(memory.segment(), memory.descriptor());
            var handshake = new ShmHandshake(offered, new byte[] {1}, doorbell, peers, 64);
            var server = UnixServerSocket.bind(address, 0600, 8);
            connections.start(new ShmConnector(connections, handshake, server));
            try {
                var unused = peer.fabric.connect(address.toString());
                TestNode.until(
                        "the accepted connection has ended",
                        () -> {
                            connections.poll(10);
                            return calls.size() >= 2;
                        },
                        peer);

                assertThat(calls).hasSize(2);
                assertThat(calls.getFirst()).isEqualTo("accepted");
                assertThat(calls.getLast()).startsWith("disconnected: ").endsWith("no memory left, on purpose");
                assertThat(connections.accept()).as("a place for another one").isNotNull();
            } finally {
                boolean alone = connections.close();
                assertThat(alone).as("no thread is left").isTrue();
                handshake.close();
                peers.close();
            }
        }
    }
}

package dev.lite.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.conformance.IgnoringHandler;
import dev.lite.fabric.driver.ConnectionLimits;
import dev.lite.fabric.driver.Connections;
import dev.lite.os.SharedMemory;
import dev.lite.os.UnixServerSocket;
import dev.lite.os.UnixSocket;
import dev.lite.testing.Undescribed;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The threads of connections: when the process has no memory left, and when the peer accepts nobody. */
class ShmConnectorTest {
    private static final Map<String, String> PATIENT = Map.of("handshake-timeout-ms", "60000");

    @TempDir
    Path directory;

    private final List<String> calls = new ArrayList<>();

    /** It fails once, when the connection is made. */
    private static final class FailingDriver implements Connections.Driver<ShmEndpoint, ShmLink> {
        private final AtomicBoolean fails = new AtomicBoolean(true);
        private final Error failure;

        FailingDriver(Error failure) {
            this.failure = failure;
        }

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
                throw failure;
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

    /** A paused process accepts nobody, and its queue fills. */
    @Test
    void aConnectToAPeerThatAcceptsNobodyEndsAtItsDeadline() {
        try (var full = UnixServerSocket.bind(directory.resolve("full"), 0600, 0);
                var first = UnixSocket.connect(full.path());
                var patient = new TestNode(directory, "patient", PATIENT);
                var hasty = new TestNode(directory, "hasty", Map.of("handshake-timeout-ms", "200"))) {
            assertThat(first).isNotNull();
            connect(patient, full);
            connect(hasty, full);

            TestNode.until("ended", () -> !hasty.disconnected.isEmpty(), patient, hasty);

            assertThat(hasty.reasons)
                    .singleElement()
                    .asString()
                    .endsWith("the peer did not accept the connection within 200 ms");
            assertThat(patient.disconnected).as("the one that may take longer").isEmpty();
        }
    }

    /** Else the close of the fabric would wait for its thread. */
    @Test
    void aConnectToAPeerThatAcceptsNobodyEndsWhenItsEndpointIsClosed() {
        try (var full = UnixServerSocket.bind(directory.resolve("full"), 0600, 0);
                var first = UnixSocket.connect(full.path());
                var patient = new TestNode(directory, "patient", PATIENT);
                var closing = new TestNode(directory, "closing", PATIENT)) {
            assertThat(first).isNotNull();
            connect(patient, full);
            var closed = connect(closing, full);
            closed.close();

            TestNode.until("its thread has ended", () -> connecting(closing).isEmpty(), patient, closing);

            assertThat(patient.disconnected).as("the one that was not closed").isEmpty();
        }
    }

    /** Begins to connect, and waits until the thread that does it is in its system call. */
    private static FabricEndpoint connect(TestNode node, UnixServerSocket to) {
        var endpoint = node.fabric.connect(to.path().toString());
        TestNode.until("it connects", () -> isConnecting(node), node);
        return endpoint;
    }

    private static boolean isConnecting(TestNode node) {
        return connecting(node).stream()
                .flatMap(Arrays::stream)
                .anyMatch(frame -> frame.getClassName().equals(UnixSocket.class.getName())
                        && frame.getMethodName().equals("connect"));
    }

    /** The stacks of the threads that make the node's connections. */
    private static List<StackTraceElement[]> connecting(TestNode node) {
        return Thread.getAllStackTraces().entrySet().stream()
                .filter(thread -> thread.getKey().getName().equals("lite-shm-" + node.name + "-connect"))
                .map(Map.Entry::getValue)
                .toList();
    }

    /** Nobody would notice the end of its peer, and its place would stay taken. */
    @Test
    void anAcceptedConnectionEndsIfItsThreadFails() {
        assertThat(endOfAConnectionWhoseThreadFails(new OutOfMemoryError("no memory left, on purpose")))
                .endsWith("no memory left, on purpose");
    }

    /** Likewise. */
    @Test
    void anAcceptedConnectionEndsAlsoIfThereIsNoMemoryToSayWhyItsThreadFailed() {
        assertThat(endOfAConnectionWhoseThreadFails(new Undescribed())).startsWith("disconnected: the peer (process ");
    }

    private String endOfAConnectionWhoseThreadFails(Error failure) {
        var connections = new Connections<ShmEndpoint, ShmLink>(
                "shm", "a", new ConnectionLimits(1, 10_000), new Recorder(), new FailingDriver(failure));
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
                assertThat(calls.getLast()).startsWith("disconnected: ");
                assertThat(connections.accept()).as("a place for another one").isNotNull();
                return calls.getLast();
            } finally {
                boolean alone = connections.close();
                assertThat(alone).as("no thread is left").isTrue();
                handshake.close();
                peers.close();
            }
        }
    }
}

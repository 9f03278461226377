package dev.lite.fabric.shm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.Post;
import dev.lite.os.Linux;
import dev.lite.os.SharedMemory;
import dev.lite.os.UnixServerSocket;
import dev.lite.os.UnixSocket;
import dev.lite.os.waiting.Deadline;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Peers that have another version, are broken, or are not LITE nodes, on either side of a connection. */
@Isolated("it counts the descriptors of its process")
class ShmHandshakeTest {
    private static final int RING_ENTRIES = 64;
    private static final long MEMORY_BYTES = 8192;

    @TempDir
    Path directory;

    private final Arena arena = Arena.ofShared();
    private final SharedMemory memory = SharedMemory.createMemfd("stranger", MEMORY_BYTES);
    private final SharedMemory page = SharedMemory.createMemfd("stranger-page", Linux.pageSize());
    private final SharedMemory rings = SharedMemory.createMemfd("stranger-rings", RingLayout.bytes(RING_ENTRIES));
    private final MemorySegment message = arena.allocate(1024, 8);

    private int messageBytes;

    @BeforeEach
    void makeOffer() {
        message.set(JAVA_LONG, 0, ShmHandshake.MAGIC);
        message.set(JAVA_INT, 8, ShmHandshake.VERSION);
        message.set(JAVA_INT, 12, ShmHandshake.OFFER);
        message.set(JAVA_LONG, 16, MEMORY_BYTES);
        message.set(JAVA_INT, 24, RING_ENTRIES);
        message.set(JAVA_INT, 28, 2);
        messageBytes = ShmHandshake.HEADER_BYTES + 2;
    }

    @AfterEach
    void close() {
        memory.close();
        page.close();
        rings.close();
        arena.close();
    }

    private int[] descriptors() {
        return new int[] {rings.descriptor(), page.descriptor(), memory.descriptor()};
    }

    @Test
    void aValidOfferIsAccepted() {
        try (var node = new TestNode(directory, "a");
                var stranger = UnixSocket.connect(Path.of(node.fabric.localAddress()))) {
            stranger.send(message, messageBytes, descriptors());
            var answer = stranger.receive(message);
            assertThat(message.get(JAVA_INT, 12)).isEqualTo(ShmHandshake.WELCOME);
            assertThat(message.get(JAVA_LONG, 16)).isEqualTo(TestNode.MEMORY_BYTES);
            assertThat(text(answer.length())).isEqualTo("hello of a");
            assertThat(answer.descriptors()).hasSize(2);
            answer.closeDescriptors();
            TestNode.until("connected", () -> !node.accepted.isEmpty(), node);
            assertThat(node.accepted.getFirst().remoteSize()).isEqualTo(MEMORY_BYTES);
        }
    }

    @Test
    void anInvalidOfferIsRefusedWithAReason() throws IOException {
        refused("not those of a LITE node", offer -> offer.set(JAVA_LONG, 0, 0x0a0d_2f20_5445_47L));
        refused("version 2 of the handshake; this node speaks 1", offer -> offer.set(JAVA_INT, 8, 2));
        refused("kind 2, not an offer", offer -> offer.set(JAVA_INT, 12, ShmHandshake.WELCOME));
        refused("at least 1 byte", offer -> offer.set(JAVA_LONG, 16, 0));
        refused("at least 1 byte", offer -> offer.set(JAVA_LONG, 16, -1));
        refused("has 8192 bytes; 8193 were announced", offer -> offer.set(JAVA_LONG, 16, MEMORY_BYTES + 1));
        refused("bytes; 9223372036854775807 were announced", offer -> offer.set(JAVA_LONG, 16, Long.MAX_VALUE));
        refused("rings of 63 entries", offer -> offer.set(JAVA_INT, 24, 63));
        refused("rings of 0 entries", offer -> offer.set(JAVA_INT, 24, 0));
        refused("rings of -2147483648 entries", offer -> offer.set(JAVA_INT, 24, Integer.MIN_VALUE));
        refused("rings of 131072 entries", offer -> offer.set(JAVA_INT, 24, 1 << 17));
        refused("were announced", offer -> offer.set(JAVA_INT, 24, 2 * RING_ENTRIES));
        refused("a text of 3 bytes in a message of 34", offer -> offer.set(JAVA_INT, 28, 3));
        refused("a text of -1 bytes", offer -> offer.set(JAVA_INT, 28, -1));
    }

    private void refused(String words, Consumer<MemorySegment> change) throws IOException {
        makeOffer();
        change.accept(message);
        assertRefused(words, messageBytes, descriptors());
    }

    @Test
    void anOfferWithTheWrongDescriptorsIsRefusedWithAReason() throws IOException {
        assertRefused("0 descriptors instead of 3", messageBytes);
        makeOffer();
        assertRefused("2 descriptors instead of 3", messageBytes, page.descriptor(), memory.descriptor());
        makeOffer();
        try (var file = SharedMemory.createFile(directory.resolve("unsealed"), RingLayout.bytes(RING_ENTRIES))) {
            assertRefused("not sealed", messageBytes, file.descriptor(), page.descriptor(), memory.descriptor());
        }
        makeOffer();
        assertRefused("were announced", messageBytes, rings.descriptor(), rings.descriptor(), page.descriptor());
    }

    @Test
    void aMessageThatIsTooShortOrTooLongIsRefused() throws IOException {
        assertRefused("a message of 5 bytes; a header has 32", 5, descriptors());
        makeOffer();
        assertRefused("EMSGSIZE", 1000, descriptors());
    }

    /** Sends the message, expects the refusal, and checks that the node still works and kept no descriptor. */
    private void assertRefused(String words, int bytes, int... descriptors) throws IOException {
        try (var node = new TestNode(directory, "a")) {
            long descriptorsBefore = openDescriptorsOf("stranger");
            try (var stranger = UnixSocket.connect(Path.of(node.fabric.localAddress()))) {
                stranger.send(message, bytes, descriptors);
                var answer = stranger.receive(message);
                assertThat(message.get(JAVA_INT, 12)).isEqualTo(ShmHandshake.REFUSED);
                assertThat(text(answer.length())).contains(words);
                assertThat(stranger.receive(message).isEnd()).isTrue();
            }
            assertThat(openDescriptorsOf("stranger")).isEqualTo(descriptorsBefore);
            var other = node.connectTo(node);
            assertThat(other.write(0, node.address(), 8, 0)).isEqualTo(Post.DONE);
            assertThat(node.accepted).hasSize(1);
        }
    }

    @Test
    void randomBytesNeverDisturbANode() {
        long seed = System.nanoTime();
        var random = new Random(seed);
        try (var node = new TestNode(directory, "a")) {
            for (int i = 0; i < 300; i++) {
                makeOffer();
                var bytes = new byte[1 + random.nextInt(messageBytes)];
                random.nextBytes(bytes);
                // The beginning is usually valid, so that the rest is decoded, too.
                int kept = random.nextInt(bytes.length + 1);
                MemorySegment.copy(bytes, kept, message, JAVA_BYTE, kept, bytes.length - kept);
                try (var stranger = UnixSocket.connect(Path.of(node.fabric.localAddress()))) {
                    stranger.send(message, bytes.length, descriptors());
                    stranger.receive(message).closeDescriptors();
                }
            }
            TestNode.until("all gone", () -> node.accepted.size() == node.disconnected.size(), node);
            assertThat(node.connectTo(node).write(0, node.address(), 8, 0))
                    .as("seed %d", seed)
                    .isEqualTo(Post.DONE);
        }
    }

    @Test
    void aSilentPeerIsDisconnectedAndDelaysNoOther() {
        try (var node = new TestNode(directory, "a", Map.of("handshake-timeout-ms", "200"));
                var silent = UnixSocket.connect(Path.of(node.fabric.localAddress()))) {
            long start = System.nanoTime();
            node.connectTo(node);
            assertThat(silent.receive(message).isEnd()).isFalse();
            assertThat(text(ShmHandshake.HEADER_BYTES + message.get(JAVA_INT, 28)))
                    .isEqualTo("the peer was silent for 200 ms");
            assertThat(System.nanoTime() - start).isLessThan(TestNode.nanos(10));
        }
    }

    @Test
    void aPeerThatSendsBytesAfterTheHandshakeIsDisconnected() {
        try (var node = new TestNode(directory, "a");
                var stranger = UnixSocket.connect(Path.of(node.fabric.localAddress()))) {
            stranger.send(message, messageBytes, descriptors());
            stranger.receive(message).closeDescriptors();
            stranger.send(message, 9, memory.descriptor());
            TestNode.until("cut off", () -> !node.disconnected.isEmpty(), node);
            assertThat(node.reasons.getFirst()).contains("sent 9 unexpected bytes");
        }
    }

    @Test
    void anInvalidPassEndsTheConnectionAndLeavesNoDescriptor() {
        for (int wrong : new int[] {0, 8, 12}) {
            try (var node = new TestNode(directory, "a" + wrong);
                    var stranger = UnixSocket.connect(Path.of(node.fabric.localAddress()))) {
                makeOffer();
                stranger.send(message, messageBytes, descriptors());
                stranger.receive(message).closeDescriptors();
                TestNode.until("connected", () -> !node.accepted.isEmpty(), node);
                makeOffer();
                message.set(JAVA_INT, 12, ShmHandshake.PASS);
                message.set(JAVA_LONG, 16, 5);
                stranger.send(message, 24, memory.descriptor());
                int valid = node.accepted.getFirst().takeDescriptor(5, TestNode.nanos(10));
                assertThat(valid).isNotEqualTo(-1);
                Linux.closeDescriptor(valid);
                message.set(JAVA_INT, wrong, 77);
                stranger.send(message, 24, memory.descriptor());
                TestNode.until("cut off", () -> !node.disconnected.isEmpty(), node);
                assertThat(node.reasons.getFirst()).contains("sent 24 unexpected bytes");
            }
        }
    }

    @Test
    void garbageInTheRingsNeverDisturbsANode() {
        long seed = System.nanoTime();
        var random = new Random(seed);
        try (var node = new TestNode(directory, "a");
                var stranger = UnixSocket.connect(Path.of(node.fabric.localAddress()))) {
            stranger.send(message, messageBytes, descriptors());
            stranger.receive(message).closeDescriptors();
            TestNode.until("connected", () -> !node.accepted.isEmpty(), node);
            var endpoint = node.accepted.getFirst();
            var garbage = new byte[(int) rings.size()];
            for (int i = 0; i < 1_000; i++) {
                random.nextBytes(garbage);
                MemorySegment.copy(garbage, 0, rings.segment(), JAVA_BYTE, 0, garbage.length);
                page.segment().set(JAVA_INT, 0, random.nextInt(3));
                assertThat(endpoint.writeImm(0, node.address(), 8, i, 0)).isIn(Post.DONE, Post.BUSY);
                node.fabric.poll(16);
            }
            assertThat(node.connectTo(node).write(0, node.address(), 8, 0))
                    .as("seed %d", seed)
                    .isEqualTo(Post.DONE);
        }
    }

    @Test
    void peersOverTheLimitAreRefusedWithAReasonUntilThereIsRoom() {
        try (var a = new TestNode(directory, "a", Map.of("connections-max", "2"));
                var b = new TestNode(directory, "b")) {
            var first = b.connectTo(a);
            b.connectTo(a);
            var refused = b.fabric.connect(a.fabric.localAddress());
            TestNode.until("refused", () -> b.disconnected.contains(refused), a, b);
            assertThat(b.reasons.getFirst()).contains("node a already has 2 connections, the limit (connections-max)");
            var ownRefused = a.fabric.connect(b.fabric.localAddress());
            TestNode.until("refused", () -> a.disconnected.contains(ownRefused), a, b);
            assertThat(a.reasons.getFirst()).contains("node a already has 2 connections");
            first.close();
            TestNode.until("room", () -> a.disconnected.size() == 2, a, b);
            assertThat(b.connectTo(a).write(0, b.address(), 8, 0)).isEqualTo(Post.DONE);
        }
    }

    @Test
    void connectingToAServerThatAnswersGarbageFailsWithAReason() throws InterruptedException {
        connectFails("not those of a LITE node", socket -> {
            message.set(JAVA_LONG, 0, 1);
            socket.send(message, messageBytes);
        });
        connectFails("unknown kind 77", socket -> {
            message.set(JAVA_INT, 12, 77);
            socket.send(message, messageBytes);
        });
        connectFails("refused: ab", socket -> {
            message.set(JAVA_INT, 12, ShmHandshake.REFUSED);
            message.set(JAVA_BYTE, ShmHandshake.HEADER_BYTES, (byte) 'a');
            message.set(JAVA_BYTE, ShmHandshake.HEADER_BYTES + 1, (byte) 'b');
            socket.send(message, messageBytes);
        });
        connectFails("1 descriptors instead of 2", socket -> {
            message.set(JAVA_INT, 12, ShmHandshake.WELCOME);
            socket.send(message, messageBytes, memory.descriptor());
        });
        connectFails("were announced", socket -> {
            message.set(JAVA_INT, 12, ShmHandshake.WELCOME);
            message.set(JAVA_LONG, 16, 2 * MEMORY_BYTES);
            socket.send(message, messageBytes, page.descriptor(), memory.descriptor());
        });
        connectFails("closed the connection before it answered", UnixSocket::close);
        connectFails(
                "silent for 300 ms",
                socket -> assertThat(socket.receive(message).isEnd()).isTrue());
    }

    private void connectFails(String words, Consumer<UnixSocket> answer) throws InterruptedException {
        makeOffer();
        try (var server = UnixServerSocket.bind(directory.resolve("nonsense"), 0600, 4);
                var node = new TestNode(directory, "a", Map.of("handshake-timeout-ms", "300"))) {
            var serving = Thread.ofPlatform().daemon().start(() -> {
                try (var socket = server.accept()) {
                    socket.receive(arena.allocate(1024)).closeDescriptors();
                    answer.accept(socket);
                }
            });
            var endpoint = node.fabric.connect(server.path().toString());
            TestNode.until("failed", () -> node.disconnected.contains(endpoint), node);
            assertThat(node.reasons)
                    .singleElement()
                    .satisfies(reason -> assertThat(reason)
                            .contains(words)
                            .contains(server.path().toString()));
            assertThat(node.connected).isEmpty();
            serving.join();
        }
    }

    /** Has no memory left at one step of a handshake. */
    private static final class FullMemories extends PeerMemories {
        private final String step;

        FullMemories(String step) {
            this.step = step;
        }

        private void step(String now) {
            if (now.equals(step)) {
                throw new OutOfMemoryError("no memory left, on purpose");
            }
        }

        @Override
        synchronized PeerProcess process(UnixSocket socket) {
            step("process");
            return super.process(socket);
        }

        @Override
        synchronized PeerPresence presence(PeerProcess process, Doorbell doorbell) {
            step("presence");
            return super.presence(process, doorbell);
        }

        @Override
        synchronized PeerMemory map(int descriptor, long bytes) {
            if (step.equals("map")) {
                Linux.closeDescriptor(descriptor);
            }
            step("map");
            return super.map(descriptor, bytes);
        }
    }

    /** A peer tries again and again. */
    @ParameterizedTest
    @ValueSource(strings = {"process", "presence", "map"})
    void aHandshakeWithoutMemoryKeepsNeitherRingsNorDoorbellNorThePeersMemory(String step) throws IOException {
        try (var own = SharedMemory.createMemfd("own", MEMORY_BYTES);
                var doorbell = Doorbell.create();
                var full = new FullMemories(step);
                var server = UnixServerSocket.bind(directory.resolve("server"), 0600, 4);
                var there = UnixSocket.connect(server.path());
                var here = server.accept()) {
            var offered = new FabricMemory(own.segment(), own.descriptor());
            var handshake = new ShmHandshake(offered, new byte[] {1}, doorbell, full, RING_ENTRIES);
            long strangers = openDescriptorsOf("stranger");
            long rings = openDescriptorsOf("lite-rings");

            there.send(message, messageBytes, descriptors());
            assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> handshake.accept(here, soon()));
            assertThat(openDescriptorsOf("stranger"))
                    .as("the peer's rings, doorbell and memory")
                    .isEqualTo(strangers);

            message.set(JAVA_INT, 12, ShmHandshake.WELCOME);
            here.send(message, messageBytes, page.descriptor(), memory.descriptor());
            assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> handshake.connect(there, soon()));
            assertThat(openDescriptorsOf("stranger"))
                    .as("the peer's doorbell and memory")
                    .isEqualTo(strangers);
            assertThat(openDescriptorsOf("lite-rings")).as("the own rings").isEqualTo(rings);
        }
    }

    @Test
    void aPeersMemoryStaysMappedWhileAnotherConnectionToItIsBeingMade() throws IOException {
        try (var peers = new PeerMemories();
                var server = UnixServerSocket.bind(directory.resolve("server"), 0600, 4);
                var there = UnixSocket.connect(server.path());
                var here = server.accept()) {
            long before = openDescriptorsOf("stranger");
            there.send(message, messageBytes, memory.descriptor(), memory.descriptor());
            int[] passed = here.receive(message).descriptors();
            PeerMemory mapped = peers.map(passed[0], MEMORY_BYTES);
            assertThat(peers.map(passed[1], MEMORY_BYTES)).isSameAs(mapped);
            peers.giveUp(mapped);
            assertThat(openDescriptorsOf("stranger")).isEqualTo(before + 1);
            peers.giveUp(mapped);
            assertThat(openDescriptorsOf("stranger")).isEqualTo(before);
        }
    }

    private static Deadline soon() {
        return Deadline.in(Duration.ofNanos(TestNode.nanos(10)));
    }

    private String text(int length) {
        byte[] text = message.asSlice(ShmHandshake.HEADER_BYTES, length - ShmHandshake.HEADER_BYTES)
                .toArray(JAVA_BYTE);
        return new String(text, StandardCharsets.UTF_8);
    }

    private static long openDescriptorsOf(String name) throws IOException {
        long count = 0;
        try (var descriptors = Files.list(Path.of("/proc/self/fd"))) {
            for (var descriptor : descriptors.toList()) {
                count += Files.exists(descriptor, LinkOption.NOFOLLOW_LINKS)
                                && Files.readSymbolicLink(descriptor).toString().contains("memfd:" + name)
                        ? 1
                        : 0;
            }
        }
        return count;
    }
}

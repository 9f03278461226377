package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.testing.Waits;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TcpSocketTest {
    private static final int LARGE = 8 << 20;

    private final Arena arena = Arena.ofShared();

    @AfterEach
    void free() {
        arena.close();
    }

    /** Both ends of a connection. */
    private record Pair(TcpServerSocket server, TcpSocket client, TcpSocket accepted) implements AutoCloseable {
        static Pair open(String host) {
            var server = listen(host);
            var client = TcpSocket.connect(server.address(), Waits.seconds(10).toNanos());
            return new Pair(server, client, server.accept());
        }

        @Override
        public void close() {
            accepted.close();
            client.close();
            server.close();
        }
    }

    private static TcpServerSocket listen(String host) {
        try {
            return TcpServerSocket.bind(new InetSocketAddress(InetAddress.getByName(host), 0), 16);
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "::1"})
    void bytesAreTransferredInBothDirections(String host) {
        try (var pair = Pair.open(host)) {
            long word = arena.allocate(16, 8).address();
            assertThat(pair.accepted().receive(word, 8)).as("there is no input").isZero();
            RawMemory.putLong(word, 42);
            assertThat(pair.client().send(word, 8)).isEqualTo(8);
            assertThat(pair.accepted().awaitReadable(Waits.seconds(10).toNanos()))
                    .isTrue();
            assertThat(pair.accepted().receive(word + 8, 8)).isEqualTo(8);
            assertThat(RawMemory.getLong(word + 8)).isEqualTo(42);
            assertThat(pair.accepted().peer()).startsWith(host.contains(":") ? "[0:0:0:0:0:0:0:1]:" : "127.0.0.1:");
            assertThat(pair.client().peer())
                    .endsWith(":" + pair.server().address().getPort());
        }
    }

    @Test
    void partsOfArraysAreSentAndReceivedInTheirPlace() {
        try (var pair = Pair.open("127.0.0.1")) {
            byte[] sent = {1, 2, 3, 4};
            byte[] got = new byte[4];
            var room = MemorySegment.ofArray(got).asSlice(1, 2);
            assertThat(pair.accepted().receive(room)).as("there is no input").isZero();
            assertThat(pair.client().send(MemorySegment.ofArray(sent).asSlice(1)))
                    .isEqualTo(3);
            assertThat(pair.accepted().awaitReadable(Waits.seconds(10).toNanos()))
                    .isTrue();
            assertThat(pair.accepted().receive(room)).isEqualTo(2);
            assertThat(got).containsExactly(0, 2, 3, 0);
            assertThat(pair.accepted().receive(room)).isEqualTo(1);
            assertThat(got).containsExactly(0, 4, 3, 0);
            pair.client().shutdownOutput();
            assertThat(pair.accepted().awaitPeerEnd(Waits.seconds(10).toNanos()))
                    .isTrue();
            assertThat(pair.accepted().receive(room)).isEqualTo(TcpSocket.END);
            pair.accepted().close();
            assertThatThrownBy(() -> pair.accepted().send(MemorySegment.ofArray(sent)))
                    .isInstanceOfSatisfying(
                            OsException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EBADF));
        }
    }

    @Test
    void severalRangesAreSentInOneCallAndInOrder() {
        try (var pair = Pair.open("127.0.0.1")) {
            var data = arena.allocateFrom(JAVA_BYTE, "abcdefghij".getBytes(java.nio.charset.StandardCharsets.US_ASCII));
            var ranges = arena.allocateFrom(JAVA_LONG, data.address() + 5, 5L, data.address(), 3L);
            assertThat(pair.client().sendVector(ranges.address(), 2)).isEqualTo(8);
            var got = arena.allocate(8);
            assertThat(pair.accepted().awaitReadable(Waits.seconds(10).toNanos()))
                    .isTrue();
            assertThat(pair.accepted().receive(got.address(), 8)).isEqualTo(8);
            assertThat(got.toArray(JAVA_BYTE)).containsExactly('f', 'g', 'h', 'i', 'j', 'a', 'b', 'c');
        }
    }

    @Test
    void aFullSocketAcceptsAPartThenNothingThenTheRest() {
        try (var pair = Pair.open("127.0.0.1")) {
            byte[] bytes = new byte[LARGE];
            new Random(1).nextBytes(bytes);
            var source = arena.allocateFrom(JAVA_BYTE, bytes);
            var sink = arena.allocate(LARGE);
            long sent = 0;
            long taken;
            while ((taken = pair.client().send(source.address() + sent, LARGE - sent)) > 0) {
                sent += taken;
            }
            assertThat(sent).isBetween(1L, LARGE - 1L);
            assertThat(pair.client().awaitWritable(1_000_000)).isFalse();
            long got = 0;
            while (got < LARGE) {
                assertThat(pair.accepted().awaitReadable(Waits.seconds(10).toNanos()))
                        .isTrue();
                got += pair.accepted().receive(sink.address() + got, LARGE - got);
                if (sent < LARGE) {
                    sent += pair.client().send(source.address() + sent, LARGE - sent);
                }
            }
            assertThat(sink.mismatch(MemorySegment.ofArray(bytes))).isEqualTo(-1);
        }
    }

    @Test
    void theEndOfThePeersOutputIsReportedAfterItsBytes() {
        try (var pair = Pair.open("127.0.0.1")) {
            long word = arena.allocate(8, 8).address();
            pair.client().send(word, 8);
            pair.client().shutdownOutput();
            assertThat(pair.accepted().awaitPeerEnd(Waits.seconds(10).toNanos()))
                    .isTrue();
            assertThat(pair.accepted().isReset()).isFalse();
            assertThat(pair.accepted().receive(word, 8)).isEqualTo(8);
            assertThat(pair.accepted().receive(word, 8)).isEqualTo(TcpSocket.END);
            assertThat(pair.accepted().send(word, 8))
                    .as("the other direction stays open")
                    .isEqualTo(8);
        }
    }

    @Test
    void anAbortResetsTheConnectionAtThePeer() {
        try (var pair = Pair.open("127.0.0.1")) {
            long word = arena.allocate(8, 8).address();
            pair.client().abort();
            assertThat(pair.accepted().awaitPeerEnd(Waits.seconds(10).toNanos()))
                    .isTrue();
            assertThat(pair.accepted().isReset()).isTrue();
            assertThatThrownBy(() -> pair.accepted().receive(word, 8))
                    .isInstanceOf(OsException.class)
                    .hasMessageContaining("ECONNRESET");
            assertThatThrownBy(() -> pair.client().send(word, 8))
                    .isInstanceOf(OsException.class)
                    .hasMessageContaining("EBADF");
        }
    }

    @Test
    void aDetachedSocketLivesOnUnderAnotherNumberAndIsClosedByItsNewOwner() {
        try (var pair = Pair.open("127.0.0.1")) {
            var bytes = arena.allocateFrom(JAVA_BYTE, (byte) 1, (byte) 2);
            var into = arena.allocate(2);
            int number = pair.client.detach();

            assertThatThrownBy(() -> pair.client.send(bytes.address(), 2))
                    .isInstanceOf(OsException.class)
                    .hasMessageContaining("EBADF");
            pair.client.abort();
            pair.client.close();
            assertThatThrownBy(pair.client::detach).hasMessageContaining("EBADF");
            try (var adopted = TcpSocket.adopt(number, "adopted")) {
                assertThat(adopted.send(bytes.address(), 2)).isEqualTo(2);
                assertThat(pair.accepted.awaitReadable(Waits.seconds(10).toNanos()))
                        .isTrue();
                assertThat(pair.accepted.receive(into.address(), 2)).isEqualTo(2);
                assertThat(into.toArray(JAVA_BYTE)).containsExactly(1, 2);
                assertThat(adopted.receive(into.address(), 2))
                        .as("it does not block")
                        .isZero();
            }
            assertThat(pair.accepted.awaitPeerEnd(Waits.seconds(10).toNanos())).isTrue();
        }
    }

    @Test
    void connectingToAnUnusedPortFailsWithAReason() {
        var server = listen("127.0.0.1");
        var nowhere = server.address();
        server.close();
        assertThatThrownBy(() -> TcpSocket.connect(nowhere, Waits.seconds(10).toNanos()))
                .isInstanceOf(OsException.class)
                .hasMessageContaining("ECONNREFUSED")
                .hasMessageContaining("127.0.0.1:" + nowhere.getPort());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> TcpSocket.connect(InetSocketAddress.createUnresolved("x.invalid", 1), 1));
    }

    @Test
    void aPortCanBeBoundOnceAndClosingEndsABlockedAccept() throws InterruptedException {
        var server = listen("127.0.0.1");
        assertThatThrownBy(() -> TcpServerSocket.bind(server.address(), 1))
                .isInstanceOf(OsException.class)
                .hasMessageContaining("EADDRINUSE");
        var thread = Thread.ofPlatform()
                .daemon()
                .start(() -> assertThatThrownBy(server::accept).isInstanceOf(OsException.class));
        Waits.until(
                "it is in the call",
                () -> java.util.Arrays.stream(thread.getStackTrace())
                        .anyMatch(frame -> frame.getClassName().equals(InetCalls.class.getName())));
        server.close();
        assertThat(thread.join(Waits.seconds(20))).isTrue();
    }
}

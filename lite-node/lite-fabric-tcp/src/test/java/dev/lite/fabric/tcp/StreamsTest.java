package dev.lite.fabric.tcp;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricIdentity;
import dev.lite.fabric.FabricKeys;
import dev.lite.fabric.FabricStream;
import dev.lite.fabric.conformance.StreamEnd;
import dev.lite.fabric.driver.Arrivals;
import dev.lite.fabric.driver.LaneHandshake;
import dev.lite.os.OsException;
import dev.lite.os.TcpServerSocket;
import dev.lite.os.TcpSocket;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.wire.PlainWire;
import dev.lite.testing.Certificates;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Streams between two nodes, and those who try to get streams of others. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StreamsTest {
    private static final String NO_CONNECTION = "it has no connection for this stream";

    @TempDir
    static Path directory;

    private static SSLContext tls;

    @BeforeAll
    static void makeCertificate() {
        tls = Certificates.make(directory, "both");
    }

    private static TestNode node(String name, String protection) {
        return protection.equals("TLS") ? new TestNode(name, tls) : new TestNode(name, "protection", protection);
    }

    private static long timeoutNs() {
        return TestNode.nanos(20);
    }

    private static CompletableFuture<@Nullable FabricStream> opening(FabricEndpoint endpoint, long tag) {
        return CompletableFuture.supplyAsync(
                () -> endpoint.openStream(tag, TestNode.nanos(90)),
                task -> Thread.ofVirtual().start(task));
    }

    @ParameterizedTest
    @CsvSource({
        "none, none, false",
        "none, encrypted, true",
        "encrypted, none, true",
        "encrypted, encrypted, true",
        "TLS, TLS, true"
    })
    void streamsHaveFreshKeysIfTheConnectionIsEncrypted(String one, String other, boolean keys) {
        try (var a = node("a", one);
                var b = node("b", other)) {
            var toA = b.connectTo(a);
            var toB = a.accepted.getFirst();
            List<FabricKeys> seen = new ArrayList<>();
            for (int tag = 1; tag <= 3; tag++) {
                var opening = opening(toA.onLanes(0, 1), tag);
                FabricStream accepted = Objects.requireNonNull(toB.openStream(tag, timeoutNs()));
                // The accepting side may send before the other one has read its verdict.
                try (var far = new StreamEnd(accepted)) {
                    far.send(new byte[] {1, 2, 3});
                    FabricStream opened = Objects.requireNonNull(opening.join());
                    try (var near = new StreamEnd(opened)) {
                        assertThat(near.receive(3)).containsExactly(1, 2, 3);
                        near.send(new byte[40_000]);
                        assertThat(far.receive(40_000)).containsOnly(0);
                    }
                    assertThat(far.isEnded(timeoutNs())).isTrue();
                    assertThat(opened.keys() != null).isEqualTo(keys);
                    assertThat(opened.toString()).contains(String.valueOf(opened.descriptor()));
                    var ofOpened = opened.keys();
                    var ofAccepted = accepted.keys();
                    if (ofOpened != null && ofAccepted != null) {
                        assertThat(ofOpened.send())
                                .isEqualTo(ofAccepted.receive())
                                .isNotEqualTo(ofOpened.receive());
                        assertThat(ofOpened.receive()).isEqualTo(ofAccepted.send());
                        assertThat(seen)
                                .allSatisfy(before -> assertThat(before.send()).isNotEqualTo(ofOpened.send()));
                        seen.add(ofOpened);
                    }
                }
            }
        }
    }

    /** Such as the messages that TLS sends after its handshake, and bytes that come together with the last record. */
    @Test
    void tlsLeavesInTheSocketWhatFollowsTheLastRecordAndNothingElse() {
        try (var server = listen();
                var client = TcpSocket.connect(server.address(), timeoutNs());
                var accepted = server.accept();
                var arena = Arena.ofConfined()) {
            var deadline = Deadline.in(Waits.seconds(20));
            var here = new TlsWire(client, tls, true, false);
            var there = new TlsWire(accepted, tls, false, false);
            var handshake = CompletableFuture.runAsync(() -> there.handshake(deadline));
            here.handshake(deadline);
            handshake.join();

            new WireMessages(there).send(new byte[] {1, 2, 3}, deadline);
            accepted.send(arena.allocateFrom(JAVA_BYTE, (byte) 4, (byte) 5).address(), 2);

            assertThat(new WireMessages(here).receive(3, deadline)).containsExactly(1, 2, 3);
            var raw = new PlainWire(client);
            assertThat(new WireMessages(raw).receive(2, deadline)).containsExactly(4, 5);
            var none = arena.allocate(1);
            assertThat(raw.receive(none.address(), 1)).as("more").isZero();
            assertThat(accepted.receive(none.address(), 1)).as("more").isZero();
        }
    }

    @Test
    void streamsThatNobodyTakesAreKeptUpToALimitAndClosedWithTheEndpoint() {
        try (var a = new TestNode("a");
                var b = new TestNode("b")) {
            var toA = b.connectTo(a);
            var toB = a.accepted.getFirst();
            List<StreamEnd> ends = new ArrayList<>();
            int all = Arrivals.KEPT_MAX + 1;
            for (int tag = 0; tag < all; tag++) {
                ends.add(new StreamEnd(toA.openStream(tag, timeoutNs())));
            }
            Waits.until("one is closed", () -> ended(ends) == 1);
            new StreamEnd(toB.openStream(all - 2, 0)).close();
            Waits.until("two are closed", () -> ended(ends) == 2);

            toB.close();
            Waits.until("all are closed", () -> ended(ends) == all);
            assertThat(toB.openStream(all - 1, timeoutNs())).isNull();
            ends.forEach(StreamEnd::close);
        }
    }

    @Test
    void aStreamThatIsDroppedIsClosedWhetherItHasComeOrStillComes() {
        try (var a = new TestNode("a");
                var b = new TestNode("b")) {
            var toA = b.connectTo(a);
            var toB = a.accepted.getFirst();
            toB.onLanes(0, 1).dropStream(1);
            List<StreamEnd> ends = new ArrayList<>();
            ends.add(new StreamEnd(toA.openStream(1, timeoutNs())));
            ends.add(new StreamEnd(toA.openStream(2, timeoutNs())));
            Waits.until("the first is closed", () -> ended(ends) == 1);
            var third = toA.openStream(3, timeoutNs());
            new StreamEnd(toB.openStream(3, timeoutNs())).close();
            new StreamEnd(third).close();
            toB.dropStream(2);
            Waits.until("both are closed", () -> ended(ends) == 2);
            ends.forEach(StreamEnd::close);

            var dropped = opening(toB, 4);
            toB.dropStream(4);
            Waits.until("nobody waits", dropped::isDone);
            assertThat(dropped.join()).isNull();
        }
    }

    @Test
    void whoConnectsForAStreamThatIsDroppedGetsNone() throws IOException {
        try (var a = new TestNode("a");
                var b = new TestNode("b", "handshake-timeout-ms", "60000");
                var between = new Interceptor(a.port());
                var silent = listen()) {
            FabricEndpoint toA = connect(b, a, between);
            between.target(silent.address().getPort());
            var waiting = opening(toA, 1);
            var other = opening(toA, 2);
            try (var first = silent.accept();
                    var second = silent.accept()) {
                assertThat(first.awaitReadable(timeoutNs())).isTrue();
                assertThat(second.awaitReadable(timeoutNs())).isTrue();
                toA.dropStream(1);
                Waits.until("ended", waiting::isDone);
                assertThat(waiting.join()).isNull();
                assertThat(other).isNotDone();
            }
        }
    }

    private static long ended(List<StreamEnd> ends) {
        return ends.stream().filter(end -> end.isEnded(0)).count();
    }

    @Test
    void whoWaitsForAStreamGetsNoneWhenTheConnectionEnds() {
        try (var a = new TestNode("a");
                var b = new TestNode("b")) {
            var toA = b.connectTo(a);
            var waiting = opening(a.accepted.getFirst(), 1);
            toA.close();
            TestNode.until("ended", waiting::isDone, a, b);
            assertThat(waiting.join()).isNull();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whoConnectsForAStreamGetsNoneWhenTheConnectionEndsOrTheFabricCloses(boolean fabric) throws IOException {
        try (var a = new TestNode("a");
                var b = new TestNode("b", "handshake-timeout-ms", "60000");
                var between = new Interceptor(a.port());
                var silent = listen()) {
            FabricEndpoint toA = connect(b, a, between);
            between.target(silent.address().getPort());
            var waiting = opening(toA, 1);
            try (var reached = silent.accept()) {
                assertThat(reached.awaitReadable(timeoutNs())).isTrue();
                assertThat(waiting).isNotDone();
                if (fabric) {
                    b.fabric.close();
                } else {
                    toA.close();
                }
                Waits.until("ended", waiting::isDone);
                assertThat(waiting.join()).isNull();
            }
        }
    }

    /** Each has a thread of its own; who waits for it may have a virtual one. */
    @Test
    void aConnectionOpensSixteenStreamsAtATime() throws IOException {
        try (var a = new TestNode("a");
                var b = new TestNode("b", "handshake-timeout-ms", "60000");
                var between = new Interceptor(a.port());
                var silent = listen()) {
            FabricEndpoint toA = connect(b, a, between);
            between.target(silent.address().getPort());
            List<CompletableFuture<@Nullable FabricStream>> waiting = new ArrayList<>();
            for (int tag = 0; tag < Streams.OPENING_MAX; tag++) {
                waiting.add(opening(toA, tag));
                silent.accept().close();
            }
            // The peer closed all of them, so they end one after the other, and others may begin.
            waiting.forEach(opening -> assertThat(opening.join()).isNull());

            List<TcpSocket> reached = new ArrayList<>();
            waiting.clear();
            for (int tag = 0; tag < Streams.OPENING_MAX; tag++) {
                waiting.add(opening(toA, tag));
                reached.add(silent.accept());
            }
            var further = opening(toA, Streams.OPENING_MAX);
            Waits.until("refused", further::isDone);
            assertThat(further.join()).isNull();
            assertThat(waiting).noneMatch(CompletableFuture::isDone);

            toA.close();
            Waits.until("all end", () -> waiting.stream().allMatch(CompletableFuture::isDone));
            reached.forEach(TcpSocket::close);
        }
    }

    private static TcpServerSocket listen() {
        return TcpServerSocket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1);
    }

    private static FabricEndpoint connect(TestNode node, TestNode peer, Interceptor between) {
        FabricEndpoint endpoint = node.fabric.connect(between.address());
        TestNode.until("connected", () -> node.connected.contains(endpoint) && !peer.accepted.isEmpty(), node, peer);
        return endpoint;
    }

    @Test
    void aWaitEndsAtItsTimeoutOrWhenItsThreadIsInterruptedAlsoAVirtualOne() throws InterruptedException {
        try (var a = new TestNode("a");
                var b = new TestNode("b")) {
            var unused = b.connectTo(a);
            var toB = a.accepted.getFirst();
            assertThat(toB.openStream(1, 1_000_000)).isNull();

            var interrupted = new AtomicBoolean();
            var waiting = Thread.ofVirtual().start(() -> {
                assertThat(toB.openStream(1, timeoutNs())).isNull();
                interrupted.set(Thread.currentThread().isInterrupted());
            });
            waiting.interrupt();
            Waits.join(waiting);
            assertThat(interrupted).isTrue();
        }
    }

    /** The side that made a connection takes no streams: it would never look for them. */
    @Test
    void onlyTheSideThatMadeTheConnectionConnectsForAStream() {
        try (var a = new TestNode("a");
                var b = new TestNode("b")) {
            long number = number(b.connectTo(a));
            assertRefused(b, handshake(TestNode.SECRET, "a", null), number, NO_CONNECTION);
        }
    }

    @Test
    void aNodeThatGivesNoChannelsOpensAndAcceptsNoStream() {
        try (var on = new TestNode("a", "channels", "true");
                var off = new TestNode("b", "channels", "false")) {
            var toOn = off.connectTo(on);
            var toOff = on.connectTo(off);
            assertThat(toOn.opensStreams()).isFalse();
            assertThat(toOff.opensStreams()).isTrue();
            assertThat(toOn.openStream(1, timeoutNs())).isNull();
            assertThat(off.accepted.getFirst().openStream(1, timeoutNs())).isNull();
            assertThat(toOff.openStream(1, timeoutNs())).isNull();
            String reason = "its option channels is false";
            assertRefused(off, handshake(TestNode.SECRET, "a", null), number(toOff), reason);
        }
    }

    @Test
    void aStrangerWithoutTheSecretGetsNoStream() {
        try (var a = new TestNode("a");
                var b = new TestNode("b")) {
            long number = number(b.connectTo(a));
            assertRefused(
                    a, handshake("another secret of 16", "b", null), number, "it refused: the cluster secret differs");
            assertThat(a.accepted.getFirst().openStream(1, 0)).isNull();
        }
    }

    @Test
    void aMemberGetsNoStreamOfTheConnectionOfAnotherOne() {
        var registry = new TestIdentity.Registry();
        var ofC = new TestIdentity(registry);
        registry.add("c", ofC);
        try (var a = member("a", registry);
                var b = member("b", registry)) {
            var toA = b.connectTo(a);
            long number = number(toA);
            assertRefused(a, handshake(TestNode.SECRET, "c", ofC), number, NO_CONNECTION);
            assertRefused(a, handshake(TestNode.SECRET, "b", ofC), number, "it does not have the key of b");
            assertThat(a.accepted.getFirst().openStream(1, 0)).isNull();

            new StreamEnd(toA.openStream(1, timeoutNs())).close();
        }
    }

    private static TestNode member(String name, TestIdentity.Registry registry) {
        var identity = new TestIdentity(registry);
        var node = new TestNode(name, null, identity);
        registry.add(name, identity);
        registry.address(name, node.fabric.localAddress());
        return node;
    }

    @Test
    void aStreamIsForOneConnectionOfItsPeer() {
        try (var a = new TestNode("a");
                var b = new TestNode("b")) {
            var first = b.connectTo(a);
            var second = b.connectTo(a);
            new StreamEnd(first.openStream(1, timeoutNs())).close();
            new StreamEnd(a.accepted.get(0).openStream(1, timeoutNs())).close();
            assertThat(a.accepted.get(1).openStream(1, 0)).isNull();
            assertRefused(a, handshake(TestNode.SECRET, "b", null), number(first) ^ number(second), NO_CONNECTION);
        }
    }

    /** Without identities, every member can say that it accepts a stream: the hello decides. */
    @Test
    void aMemberAtTheAddressOfAnotherOneGivesNoStream() throws IOException {
        try (var a = new TestNode("a");
                var b = new TestNode("b");
                var between = new Interceptor(a.port());
                var other = listen()) {
            var toA = connect(b, a, between);
            between.target(other.address().getPort());

            assertThat(streamFrom(other, "c", toA)).isFalse();
            assertThat(streamFrom(other, "a", toA))
                    .as("the test accepts as it should")
                    .isTrue();
        }
    }

    private static boolean streamFrom(TcpServerSocket server, String name, FabricEndpoint endpoint) {
        var opening = opening(endpoint, 1);
        try (var socket = server.accept()) {
            var deadline = Deadline.in(Waits.seconds(20));
            var accepted =
                    handshake(TestNode.SECRET, name, null).accept(new WireMessages(new PlainWire(socket)), deadline);
            accepted.welcomeStream(deadline);
            FabricStream stream = opening.join();
            if (stream != null) {
                new StreamEnd(stream).close();
            }
            return stream != null;
        }
    }

    private static long number(FabricEndpoint endpoint) {
        return ((TcpEndpoint) endpoint).streams().number();
    }

    private static LaneHandshake handshake(String secret, String name, @Nullable FabricIdentity identity) {
        byte[] hello = ("hello of " + name).getBytes(StandardCharsets.UTF_8);
        var self = new LaneHandshake.Self(TcpFabricProvider.NAME, hello, identity);
        return new LaneHandshake(TcpFabric.PROTOCOL, TcpOptions.LANES_MAX, secret, self, false, 0);
    }

    private static void assertRefused(TestNode node, LaneHandshake handshake, long number, String reason) {
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), node.port());
        try (var socket = TcpSocket.connect(address, timeoutNs())) {
            var channel = new WireMessages(new PlainWire(socket));
            var deadline = Deadline.in(Waits.seconds(20));
            assertThatThrownBy(() -> handshake.connectStream(channel, node.fabric.localAddress(), 1, number, deadline))
                    .isNotInstanceOf(OsException.class)
                    .hasMessageContaining(reason);
        }
    }
}

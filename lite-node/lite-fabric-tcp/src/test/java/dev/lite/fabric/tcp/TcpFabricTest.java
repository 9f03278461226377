package dev.lite.fabric.tcp;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricException;
import dev.lite.fabric.Post;
import dev.lite.os.OsException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TcpFabricTest {
    private static final String SECRET = "sixteen bytes at least";
    private static final int MIB = 1 << 20;

    @ParameterizedTest
    @CsvSource({
        "port, 65536, 0 to 65535",
        "port, -1, 0 to 65535",
        "port, http, number",
        "lanes, 0, 1 to 4",
        "lanes, 5, 1 to 4",
        "connections-max, 0, 1 to 4096",
        "handshake-timeout-ms, 0, 1 to 60000",
        "peer-timeout-ms, 299, 300 to 600000",
        "channels, yes, must be true or false",
        "channels, TRUE, must be true or false",
        "channels, '', must be true or false",
        "bind, '', not a valid address",
        "bind, no.such.host.invalid, not a valid address",
        "bind, 0.0.0.0, advertised-host"
    })
    void anOptionOutOfRangeIsRefusedWithItsLimits(String name, String value, String limits) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> TcpOptions.of(Map.of(name, value)))
                .withMessageContaining(name)
                .withMessageContaining(value)
                .withMessageContaining(limits);
    }

    @Test
    void aShortSecretIsRefusedAndNoSecretIsPrinted() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> TcpOptions.of(Map.of("secret", "hunter2")))
                .withMessageContaining("16")
                .withMessageContaining("7")
                .satisfies(e -> assertThat(e.getMessage()).doesNotContain("hunter2"));
        assertThat(TcpOptions.of(Map.of("secret", SECRET)).toString()).doesNotContain(SECRET);
    }

    @Test
    void aNodeListensBeyondLoopbackWithASecret() {
        try (var a = new TestNode("a", "bind", "0.0.0.0", "advertised-host", "localhost", "secret", SECRET);
                var b = new TestNode("b", "secret", SECRET)) {
            assertThat(a.fabric.localAddress()).startsWith("localhost:");
            b.connectTo(a);
        }
    }

    @Test
    void aPortInUseIsReported() {
        try (var a = new TestNode("a")) {
            assertThatThrownBy(() -> new TestNode("b", "port", Integer.toString(a.port())))
                    .isInstanceOf(FabricException.class)
                    .hasMessageContaining("EADDRINUSE")
                    .hasMessageContaining(a.fabric.localAddress());
        }
    }

    @Test
    void aPeerWithAnotherSecretIsRefusedWithAReasonWithoutDisturbingOthers() {
        try (var a = new TestNode("a", "secret", SECRET);
                var friend = new TestNode("friend", "secret", SECRET);
                var stranger = new TestNode("stranger", "secret", "another secret of 16")) {
            var up = friend.connectTo(a);

            String reason = stranger.refusalBy(a);

            assertThat(reason).contains("the cluster secret differs").doesNotContain(SECRET, "another secret");
            assertThat(a.accepted).hasSize(1);
            assertThat(up.write(0, friend.address(), 8, 1)).isEqualTo(Post.ACCEPTED);
            TestNode.until("written", () -> friend.completed.contains(1L), friend, a);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "::1", "localhost", "0.0.0.0"})
    void noAddressIsServedWithoutASecretOrTls(String bind) {
        FabricConfig config = new FabricConfig(
                "open", new byte[0], Path.of("/"), Map.of("bind", bind, "advertised-host", "localhost"));
        try (var a = new TestNode("a")) {
            assertThatThrownBy(() -> new TcpFabricProvider().open(config, a))
                    .isInstanceOf(FabricException.class)
                    .hasMessageContaining("set secret or TLS");
        }
    }

    @Test
    void theSecretChangesWithoutAnInterruption() {
        String old = "the old secret of 24 bytes";
        String fresh = "the new secret of 24 bytes";
        String[] steps = {old, old + "\n" + fresh, fresh + "\n" + old, fresh};
        for (int step = 0; step < steps.length - 1; step++) {
            try (var before = new TestNode("before", "secret", steps[step]);
                    var after = new TestNode("after", "secret", steps[step + 1])) {
                before.connectTo(after);
                after.connectTo(before);
            }
        }
        try (var first = new TestNode("first", "secret", old);
                var last = new TestNode("last", "secret", fresh)) {
            assertThat(first.refusalBy(last)).contains("the cluster secret differs");
        }
    }

    @Test
    void aPeerThatClaimsToHaveNoSecretIsRefused() throws IOException {
        try (var a = new TestNode("a");
                var socket = new Socket(InetAddress.getLoopbackAddress(), a.port())) {
            socket.setSoTimeout((int) Duration.ofNanos(TestNode.nanos(10)).toMillis());
            ByteBuffer opening = ByteBuffer.allocate(80).order(ByteOrder.LITTLE_ENDIAN);
            opening.putLong(TcpFabric.PROTOCOL).putLong(0);
            socket.getOutputStream().write(opening.array());
            assertThat(ends(socket)).isTrue();
            assertThat(a.accepted).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 7, 8, 80, 1000})
    void garbageInsteadOfAHandshakeIsDroppedWithoutDisturbingOthers(int bytes) throws IOException {
        // Long enough for the handshake of a good node on a busy machine.
        try (var a = new TestNode("a", "handshake-timeout-ms", "1500");
                var b = new TestNode("b")) {
            byte[] garbage = new byte[bytes];
            new Random(bytes).nextBytes(garbage);
            try (var socket = new Socket(InetAddress.getLoopbackAddress(), a.port())) {
                socket.setSoTimeout((int) Duration.ofNanos(TestNode.nanos(10)).toMillis());
                socket.getOutputStream().write(garbage);
                assertThat(ends(socket)).isTrue();
            }
            b.connectTo(a);
            assertThat(a.accepted).hasSize(1);
        }
    }

    /** Whether the other side ends the connection, cleanly or by a reset. */
    private static boolean ends(Socket socket) {
        try {
            while (socket.getInputStream().read() >= 0) {
                // It may have sent its challenge first.
            }
            return true;
        } catch (java.net.SocketTimeoutException e) {
            return false;
        } catch (IOException e) {
            return true;
        }
    }

    @Test
    void halfOpenConnectionsOfStrangersDoNotKeepANodeOut() throws IOException {
        List<Socket> silent = new ArrayList<>();
        try (var a = new TestNode("a", "handshake-timeout-ms", "60000");
                var b = new TestNode("b", "handshake-timeout-ms", "20000")) {
            try {
                for (int i = 0; i < 3 * TcpConnector.UNAUTHENTICATED_MAX; i++) {
                    silent.add(new Socket(InetAddress.getLoopbackAddress(), a.port()));
                }
                b.connectTo(a);
                var oldest = silent.getFirst();
                oldest.setSoTimeout((int) Duration.ofNanos(TestNode.nanos(10)).toMillis());
                assertThat(ends(oldest)).as("it ended for a newer one").isTrue();
            } finally {
                for (var socket : silent) {
                    socket.close();
                }
            }
        }
    }

    @Test
    void aSilentPeerHasHalfOfTheHandshakesTimeForItsProof() throws IOException {
        try (var a = new TestNode("a", "handshake-timeout-ms", "1500");
                var silent = new Socket(InetAddress.getLoopbackAddress(), a.port())) {
            silent.setSoTimeout((int) Duration.ofNanos(TestNode.nanos(10)).toMillis());
            assertThat(ends(silent)).isTrue();
        }
    }

    @Test
    void connectionsOverTheLimitAreRefusedWithTheLimit() {
        try (var a = new TestNode("a", "connections-max", "1");
                var b = new TestNode("b");
                var c = new TestNode("c")) {
            b.connectTo(a);
            assertThat(c.refusalBy(a)).contains("connections-max").contains("1 connections");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void theSmallerNumberOfLanesApplies(int lanes) {
        try (var a = new TestNode("a", "lanes", Integer.toString(lanes));
                var b = new TestNode("b", "lanes", "3")) {
            var toA = (TcpEndpoint) b.connectTo(a);
            var link = toA.link();
            assertThat(link).isNotNull();
            assertThat(link.lanes()).hasSize(Math.min(3, lanes));
            assertThat(toA.write(0, b.address(), MIB, 1)).isEqualTo(Post.ACCEPTED);
            TestNode.until("written", () -> b.completed.contains(1L), b, a);
        }
    }

    @Test
    void everyOperationWorksOverIpv6() {
        try (var a = new TestNode("a", "bind", "::1", "secret", SECRET);
                var b = new TestNode("b", "bind", "::1", "secret", SECRET)) {
            assertThat(a.fabric.localAddress()).startsWith("[").endsWith("]:" + a.port());
            var toA = b.connectTo(a);
            b.memory.set(JAVA_LONG, 0, 4711);
            toA.writeImm(64, b.address(), 8, 5, 1);
            toA.fetchAdd(64, 1, b.address() + 8, 2);
            toA.read(64, b.address() + 16, 8, 3);
            TestNode.until("done", () -> b.completed.size() == 3 && a.immediates.contains(5), b, a);
            assertThat(b.memory.get(JAVA_LONG, 8)).isEqualTo(4711);
            assertThat(b.memory.get(JAVA_LONG, 16)).isEqualTo(4712);
        }
    }

    @Test
    void aMebibyteInEachDirectionAtOnceNeverBlocks() {
        try (var a = new TestNode("a");
                var b = new TestNode("b")) {
            var toA = b.connectTo(a);
            var toB = a.accepted.getFirst();
            long seed = System.nanoTime();
            byte[] ofA = new byte[MIB];
            byte[] ofB = new byte[MIB];
            new Random(seed).nextBytes(ofA);
            new Random(seed + 1).nextBytes(ofB);
            a.memory.asSlice(0, MIB).copyFrom(java.lang.foreign.MemorySegment.ofArray(ofA));
            b.memory.asSlice(0, MIB).copyFrom(java.lang.foreign.MemorySegment.ofArray(ofB));
            int count = 200;
            for (int i = 0; i < count; i++) {
                toA.write(2 * MIB, b.address(), MIB, 2L * i);
                toB.write(2 * MIB, a.address(), MIB, 2L * i);
                toA.read(0, b.address() + 4 * MIB, MIB, 2L * i + 1);
                toB.read(0, a.address() + 4 * MIB, MIB, 2L * i + 1);
                int turn = i;
                TestNode.until(
                        "not too many are outstanding",
                        () -> a.completed.size() + b.completed.size() > 4 * turn - 80,
                        a,
                        b);
            }
            TestNode.until("all", () -> a.completed.size() == 2 * count && b.completed.size() == 2 * count, a, b);
            assertThat(a.memory.asSlice(2 * MIB, MIB).toArray(JAVA_BYTE)).isEqualTo(ofB);
            assertThat(b.memory.asSlice(2 * MIB, MIB).toArray(JAVA_BYTE)).isEqualTo(ofA);
            assertThat(a.memory.asSlice(4 * MIB, MIB).toArray(JAVA_BYTE)).isEqualTo(ofB);
            assertThat(b.memory.asSlice(4 * MIB, MIB).toArray(JAVA_BYTE)).isEqualTo(ofA);
        }
    }

    @Test
    void aSmallReadDoesNotWaitBehindLargeWrites() {
        try (var a = new TestNode("a");
                var b = new TestNode("b")) {
            var toA = b.connectTo(a);
            for (int i = 0; i < 32; i++) {
                assertThat(toA.write(0, b.address(), 4 * MIB, i)).isEqualTo(Post.ACCEPTED);
            }
            assertThat(toA.read(0, b.address() + 5 * MIB, 64, 1000)).isEqualTo(Post.ACCEPTED);
            TestNode.until("read", () -> b.completed.contains(1000L), b, a);
            assertThat(b.completed.size())
                    .as("writes that completed before the read")
                    .isLessThan(32);
            TestNode.until("all", () -> b.completed.size() == 33, b, a);
        }
    }

    @Test
    void aFullQueueAnswersBusyWhileThePeerDoesNotPoll() {
        try (var a = new TestNode("a", "lanes", "1");
                var b = new TestNode("b", "lanes", "1")) {
            var toA = b.connectTo(a);
            int taken = 0;
            while (toA.write(0, b.address(), MIB, taken) == Post.ACCEPTED) {
                taken++;
            }
            assertThat(taken).isEqualTo(Operations.MAX);
            assertThat(toA.read(0, b.address(), 8, 9999)).isEqualTo(Post.BUSY);
            TestNode.until("all", () -> b.completed.size() == Operations.MAX, b, a);
            assertThat(toA.read(0, b.address(), 8, 9999)).isEqualTo(Post.ACCEPTED);
            TestNode.until("one more", () -> b.completed.contains(9999L), b, a);
        }
    }

    @Test
    void aSilentPeerIsDisconnectedAndItsOperationsTimeOut() {
        try (var a = new TestNode("a", "peer-timeout-ms", "600");
                var b = new TestNode("b", "peer-timeout-ms", "600")) {
            var toA = b.connectTo(a);
            toA.read(0, b.address(), 8, 1);
            // Only b polls, so a behaves like a stopped process.
            long start = System.nanoTime();
            TestNode.until("disconnected", () -> b.disconnected.containsKey(toA), b);
            assertThat(System.nanoTime() - start).isGreaterThan(300_000_000L);
            assertThat(b.failed).containsEntry(1L, FabricError.TIMED_OUT);
            assertThat(b.disconnected.get(toA)).contains("silent").contains("600");
            TestNode.until("noticed", () -> a.disconnected.size() == 1, a);
        }
    }

    /** As without memory for the list of the other lanes: its sockets and buffers would stay for ever. */
    @Test
    void theSocketsOfAnEndedConnectionAreClosedAlsoIfItsLanesCannotBeForgotten() {
        try (var a = new TestNode("a", "peer-timeout-ms", "600000");
                var b = new TestNode("b", "peer-timeout-ms", "600000")) {
            var toA = (TcpEndpoint) b.connectTo(a);
            var link = toA.link();
            assertThat(link).isNotNull();
            // It is watched already, and now has a key that is not its own.
            assertThatThrownBy(() -> link.lanes()[0].watch(4711)).isInstanceOf(OsException.class);
            toA.close();
            assertThatThrownBy(() -> TestNode.until("its end", () -> false, b))
                    .isInstanceOf(IndexOutOfBoundsException.class);
            assertThat(b.disconnected).containsKey(toA);
            TestNode.until("the other side noticed", () -> a.disconnected.size() == 1, a, b);
            assertThat(b.connectTo(a).write(0, b.address(), 8, 1)).isEqualTo(Post.ACCEPTED);
            TestNode.until("written", () -> b.completed.contains(1L), b, a);
        }
    }

    @Test
    void anIdlePeerThatPollsStaysConnected() {
        try (var a = new TestNode("a", "peer-timeout-ms", "300");
                var b = new TestNode("b", "peer-timeout-ms", "300")) {
            var toA = b.connectTo(a);
            long end = System.nanoTime() + 1_200_000_000L;
            TestNode.until("a while", () -> System.nanoTime() - end > 0, a, b);
            assertThat(a.disconnected).isEmpty();
            assertThat(b.disconnected).isEmpty();
            assertThat(toA.read(0, b.address(), 8, 1)).isEqualTo(Post.ACCEPTED);
        }
    }

    @Test
    void anImmediateIsAcknowledgedEvenWithoutTrafficInTheOtherDirection() {
        try (var a = new TestNode("a");
                var b = new TestNode("b")) {
            var toA = b.connectTo(a);
            toA.writeImm(0, b.address(), 8, 1, 1);
            TestNode.until("arrived", () -> a.immediates.contains(1), a);
            a.fabric.await(0);
            TestNode.until("acknowledged", () -> b.completed.contains(1L), b);
        }
    }

    @Test
    void awaitArmedEndsOnAnEventWhileArmedButNotWhileDisarmed() throws InterruptedException {
        try (var a = new TestNode("a");
                var b = new TestNode("b")) {
            var toA = b.connectTo(a);
            TestNode.until("rest", () -> a.fabric.poll(16) + b.fabric.poll(16) == 0, a, b);
            var returns = new AtomicInteger();
            a.fabric.disarm();
            a.fabric.awaitArmed(0);
            a.fabric.awaitArmed(1_000_000);
            var follower = Thread.ofPlatform().daemon().start(() -> {
                a.fabric.awaitArmed(TestNode.nanos(4));
                returns.incrementAndGet();
            });
            toA.writeImm(0, b.address(), 0, 1, 1);
            TestNode.until("arrived", () -> a.immediates.contains(1), a);
            LockSupport.parkNanos(50_000_000);
            assertThat(returns).as("while disarmed").hasValue(0);

            assertThat(a.fabric.arm()).isTrue();
            toA.writeImm(0, b.address(), 0, 2, 2);

            assertThat(follower.join(Duration.ofNanos(TestNode.nanos(2)))).isTrue();
            long start = System.nanoTime();
            // awaitArmed may return once more, because the thread that armed may still have held the poll role at the
            // event.
            a.fabric.awaitArmed(TestNode.nanos(4));
            boolean unused = a.fabric.arm();
            a.fabric.awaitArmed(TestNode.nanos(4));
            assertThat(System.nanoTime() - start).isLessThan(TestNode.nanos(2));
        }
    }

    @Test
    void theStandbyThreadAcknowledgesAnImmediateWhenNoThreadPolls() throws InterruptedException {
        try (var a = new TestNode("a");
                var b = new TestNode("b")) {
            var toA = b.connectTo(a);
            a.fabric.disarm();
            toA.writeImm(0, b.address(), 8, 1, 1);
            TestNode.until("arrived", () -> a.immediates.contains(1), a);
            boolean unused = a.fabric.arm();
            var done = new AtomicBoolean();
            var follower = Thread.ofPlatform().daemon().start(() -> {
                while (!done.get()) {
                    a.fabric.awaitArmed(TestNode.nanos(4));
                }
            });
            TestNode.until("acknowledged", () -> b.completed.contains(1L), b);
            done.set(true);
            a.fabric.wakeup();
            assertThat(follower.join(Duration.ofNanos(TestNode.nanos(2)))).isTrue();
        }
    }

    @Test
    void wakeupEndsAwaitArmedEvenWhileDisarmed() throws InterruptedException {
        try (var a = new TestNode("a")) {
            TestNode.until("rest", () -> a.fabric.poll(16) == 0, a);
            a.fabric.disarm();
            var follower = Thread.ofPlatform().daemon().start(() -> a.fabric.awaitArmed(TestNode.nanos(4)));
            a.fabric.wakeup();
            assertThat(follower.join(Duration.ofNanos(TestNode.nanos(2)))).isTrue();
        }
    }

    @Test
    void aPeerThatSendsGarbageAfterItsHandshakeIsDisconnected() throws IOException {
        try (var a = new TestNode("a", "lanes", "1", "protection", "none")) {
            try (var socket = new Socket()) {
                socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), a.port()));
                shakeHands(socket);
                TestNode.until("accepted", () -> a.accepted.size() == 1, a);
                byte[] nonsense = new byte[Frame.HEADER_BYTES];
                nonsense[0] = 99;
                socket.getOutputStream().write(nonsense);
                TestNode.until("cut off", () -> a.disconnected.size() == 1, a);
                assertThat(a.disconnected.get(a.accepted.getFirst()))
                        .contains("invalid frame: it starts with 0x00000063");
                assertThat(ends(socket)).isTrue();
            }
        }
    }

    /** Performs the handshake like a node that knows the secret. */
    private static void shakeHands(Socket socket) throws IOException {
        byte[] opening = ByteBuffer.allocate(80)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(TcpFabric.PROTOCOL)
                .putLong(1)
                .array();
        socket.getOutputStream().write(opening);
        byte[] challenge = socket.getInputStream().readNBytes(80);
        byte[] claim = new byte[3 * 4 + 3 * 8 + 256 + 32];
        claim[4] = 1; // one lane
        byte[] signature = new byte[64]; // these nodes have no identity
        socket.getOutputStream().write(claim);
        socket.getOutputStream().write(signature);
        socket.getOutputStream().write(proof(opening, challenge, claim, signature));
    }

    private static byte[] proof(byte[]... messages) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(TestNode.SECRET.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            mac.update("claim".getBytes(StandardCharsets.US_ASCII));
            for (byte[] message : messages) {
                mac.update(message);
            }
            return mac.doFinal();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }
}

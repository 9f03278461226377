package dev.lite.fabric.tcp;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import dev.lite.fabric.driver.LaneHandshake;
import dev.lite.os.TcpSocket;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.wire.PlainWire;
import dev.lite.testing.Certificates;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Members of the cluster, who know its secret or have a certificate, say that they are another node. */
class IdentityTest {
    @TempDir
    static Path directory;

    private static Certificates.Authority authority;
    private static SSLContext ofA;
    private static SSLContext ofB;

    private final TestIdentity.Registry registry = new TestIdentity.Registry();

    @BeforeAll
    static void makeCertificates() {
        authority = Certificates.authority(directory);
        ofA = authority.issue("a", "a", 0, 2);
        ofB = authority.issue("b", "b", 0, 2);
    }

    private TestNode member(String name) {
        return member(name, null);
    }

    private TestNode member(String name, @Nullable SSLContext tls) {
        TestIdentity identity = new TestIdentity(registry);
        TestNode node = new TestNode(name, tls, identity, "lanes", "2");
        registry.add(name, identity);
        registry.address(name, node.fabric.localAddress());
        return node;
    }

    @Test
    void whoKnowsOnlyTheSecretIsNoOtherNodeAndDoesNotDisturbItsLink() {
        try (var a = member("a");
                var b = member("b");
                var impostor = new TestNode("b", null, new TestIdentity(new TestIdentity.Registry()))) {
            FabricEndpoint toA = b.connectTo(a);

            assertThat(impostor.refusalBy(a)).contains("it does not have the key of b");

            assertThat(a.accepted).hasSize(1);
            b.memory.set(JAVA_LONG, 0, 5);
            assertThat(toA.write(0, b.address(), 8, 1)).isEqualTo(Post.ACCEPTED);
            TestNode.until("written", () -> b.completed.contains(1L), b, a);
            assertThat(a.memory.get(JAVA_LONG, 0)).isEqualTo(5);
        }
    }

    @Test
    void whoShowsTheKeyOfAnotherNodeMustHaveItsPrivateKey() {
        TestIdentity ofOther = new TestIdentity(registry);
        registry.add("b", ofOther);
        try (var a = member("a");
                var impostor =
                        new TestNode("b", null, new TestIdentity(new TestIdentity.Registry(), ofOther.publicKey()))) {
            assertThat(impostor.refusalBy(a)).contains("it did not sign with the key of its node");
            assertThat(a.accepted).isEmpty();
        }
    }

    @Test
    void aNodeThatShowsNoKeyIsRefused() {
        try (var a = member("a");
                var old = new TestNode("b")) {
            assertThat(old.refusalBy(a)).contains("it did not sign with the key of its node");
        }
    }

    @Test
    void aMemberAtTheAddressOfAnotherOneIsNotTakenForIt() throws IOException {
        try (var a = member("a");
                var b = member("b");
                var c = member("c");
                var between = new Interceptor(c.port())) {
            registry.address("a", between.address()); // somebody leads the connections to a to another member

            FabricEndpoint toA = b.fabric.connect(between.address());

            TestNode.until("refused", () -> b.disconnected.containsKey(toA), a, b, c);
            assertThat(b.disconnected.get(toA)).contains("that is not the address of c");
            assertThat(b.connected).isEmpty();
        }
    }

    @Test
    void aHandshakeIsNotPassedOnFromOneTlsConnectionToAnother() throws IOException {
        try (var a = member("a", ofA);
                var b = member("b", ofB);
                var relay = new TlsRelay(a.port(), ofA, ofB)) {
            registry.address("a", relay.address());

            FabricEndpoint toA = b.fabric.connect(relay.address());

            TestNode.until("refused", () -> b.disconnected.containsKey(toA), b, a);
            assertThat(a.accepted).isEmpty();
            assertThat(relay.passed()).as("bytes that it could read").isPositive();
        }
    }

    @Test
    void theNameInACertificateIsThatOfTheNode() {
        SSLContext wrongName = authority.issue("wrong", "somebody-else", 0, 2);
        try (var a = member("a", ofA);
                var b = member("b", ofB);
                var other = member("other", wrongName)) {
            b.connectTo(a);
            assertThat(other.refusalBy(a)).contains("its certificate is not for other");
            assertThat(a.refusalBy(other)).contains("its certificate is not for other");
            assertThat(a.accepted).hasSize(1);
        }
    }

    @Test
    void namesAreNotComparedIfTheConfigurationSaysSo() {
        SSLContext shared = authority.issue("shared", "one-for-all", 0, 2);
        TestIdentity ofC = new TestIdentity(registry);
        TestIdentity ofD = new TestIdentity(registry);
        try (var c = new TestNode("c", shared, ofC, "verify-names", "false");
                var d = new TestNode("d", shared, ofD, "verify-names", "false")) {
            registry.add("c", ofC);
            registry.add("d", ofD);
            registry.address("c", c.fabric.localAddress());
            d.connectTo(c);
        }
    }

    @Test
    void expiredAndForeignCertificatesAreRefused() {
        SSLContext expired = authority.issue("expired", "b", -10, 5);
        try (var a = member("a", ofA);
                var late = member("b", expired);
                var foreign = member("b", Certificates.make(directory, "foreign"))) {
            assertThat(late.refusalBy(a))
                    .as("a may reset the connection before it says why")
                    .isNotBlank();
            assertThat(a.refusalBy(late)).contains("TLS");
            assertThat(foreign.refusalBy(a)).contains("TLS");
            assertThat(a.accepted).isEmpty();
        }
    }

    /** Who is in the network between two nodes reads the number of the connection that they make. */
    @Test
    void aMemberCannotAddALaneToTheConnectionOfAnotherOne() {
        TestIdentity ofX = new TestIdentity(registry);
        TestIdentity ofY = new TestIdentity(registry);
        registry.add("x", ofX);
        registry.add("y", ofY);
        try (var a = member("a");
                var first = lane(a);
                var stolen = lane(a);
                var second = lane(a)) {
            assertThat(connect(first, a, "x", ofX, 0).lanes()).isEqualTo(2);

            assertThatThrownBy(() -> connect(stolen, a, "y", ofY, 1))
                    .hasMessageContaining("no connection waits for this lane");

            assertThat(connect(second, a, "x", ofX, 1).lanes()).isEqualTo(2);
            TestNode.until("x is connected", () -> a.accepted.size() == 1, a);
        }
    }

    private static TcpSocket lane(TestNode to) {
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), to.port());
        return TcpSocket.connect(address, TestNode.nanos(20));
    }

    private static LaneHandshake.Verdict connect(
            TcpSocket socket, TestNode to, String name, TestIdentity identity, int lane) {
        byte[] hello = ("hello of " + name).getBytes(StandardCharsets.UTF_8);
        var self = new LaneHandshake.Self(TcpFabricProvider.NAME, hello, identity);
        var handshake = new LaneHandshake(TcpFabric.PROTOCOL, TcpOptions.LANES_MAX, TestNode.SECRET, self, false, 0);
        Deadline deadline = Deadline.in(Waits.seconds(20));
        return handshake.connect(
                new WireMessages(new PlainWire(socket)), to.fabric.localAddress(), lane, 2, 41, 42, deadline);
    }
}

package dev.lite.fabric.tcp;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import dev.lite.testing.Certificates;
import java.io.IOException;
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
}

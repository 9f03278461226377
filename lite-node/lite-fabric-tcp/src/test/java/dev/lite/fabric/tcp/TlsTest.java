package dev.lite.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.Post;
import dev.lite.testing.Certificates;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.security.SecureRandom;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TlsTest {
    @TempDir
    static Path directory;

    private static SSLContext ours;
    private static SSLContext theirs;

    @BeforeAll
    static void makeCertificates() {
        ours = Certificates.make(directory, "ours");
        theirs = Certificates.make(directory, "theirs");
    }

    @Test
    void peersWithDifferentCertificatesRefuseEachOtherWithoutDisturbingOthers() {
        try (var a = new TestNode("a", ours);
                var friend = new TestNode("friend", ours);
                var stranger = new TestNode("stranger", theirs)) {
            var toA = friend.connectTo(a);

            assertThat(stranger.refusalBy(a)).contains("TLS");
            assertThat(a.refusalBy(stranger)).contains("TLS");

            assertThat(a.accepted).hasSize(1);
            assertThat(stranger.accepted).isEmpty();
            assertThat(toA.write(0, friend.address(), 1 << 20, 1)).isEqualTo(Post.ACCEPTED);
            TestNode.until("written", () -> friend.completed.contains(1L), friend, a);
        }
    }

    @Test
    void nodesWithAndWithoutTlsRefuseEachOther() {
        try (var encrypted = new TestNode("encrypted", ours, "handshake-timeout-ms", "1000");
                var plain = new TestNode("plain", "handshake-timeout-ms", "1000")) {
            assertThat(plain.refusalBy(encrypted)).isNotBlank();
            assertThat(encrypted.refusalBy(plain)).isNotBlank();
            assertThat(encrypted.accepted).isEmpty();
            assertThat(plain.accepted).isEmpty();
        }
    }

    /** As without memory for the buffers of TLS: each attempt would keep a descriptor for ever. */
    @Test
    void aConnectionForWhichThereIsNoTlsIsClosed() throws IOException {
        try (var node = new TestNode("node", new BrokenContext());
                var socket = new Socket(InetAddress.getLoopbackAddress(), node.port())) {
            socket.setSoTimeout((int) Waits.seconds(10).toMillis());
            assertThat(socket.getInputStream().read()).isEqualTo(-1);
        }
    }

    @Test
    void certificatesSufficeToListenBeyondLoopback() {
        try (var a = new TestNode("a", ours, "bind", "0.0.0.0", "advertised-host", "localhost");
                var b = new TestNode("b", ours)) {
            b.connectTo(a);
        }
    }

    private static final class BrokenContext extends SSLContext {
        BrokenContext() {
            super(new BrokenContextSpi(), null, "TLS");
        }
    }

    private static final class BrokenContextSpi extends SSLContextSpi {
        private static final String WHY = "the test's context makes no connections";

        @Override
        protected void engineInit(KeyManager[] keys, TrustManager[] trusted, SecureRandom random) {}

        @Override
        protected SSLSocketFactory engineGetSocketFactory() {
            throw new IllegalStateException(WHY);
        }

        @Override
        protected SSLServerSocketFactory engineGetServerSocketFactory() {
            throw new IllegalStateException(WHY);
        }

        @Override
        protected SSLEngine engineCreateSSLEngine() {
            throw new OutOfMemoryError(WHY);
        }

        @Override
        protected SSLEngine engineCreateSSLEngine(String host, int port) {
            throw new OutOfMemoryError(WHY);
        }

        @Override
        protected SSLSessionContext engineGetServerSessionContext() {
            throw new IllegalStateException(WHY);
        }

        @Override
        protected SSLSessionContext engineGetClientSessionContext() {
            throw new IllegalStateException(WHY);
        }
    }
}

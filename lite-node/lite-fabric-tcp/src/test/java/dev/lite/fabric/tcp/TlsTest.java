package dev.lite.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.Post;
import dev.lite.testing.Certificates;
import java.nio.file.Path;
import javax.net.ssl.SSLContext;
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

    @Test
    void certificatesSufficeToListenBeyondLoopback() {
        try (var a = new TestNode("a", ours, "bind", "0.0.0.0", "advertised-host", "localhost");
                var b = new TestNode("b", ours)) {
            b.connectTo(a);
        }
    }
}

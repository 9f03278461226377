package dev.lite.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.os.TcpServerSocket;
import dev.lite.os.TcpSocket;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.wire.WireException;
import dev.lite.testing.Certificates;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A peer with a certificate that uses TLS in another way than a node. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TlsWireTest {
    private static final int RECORDS = 200;

    @TempDir
    Path directory;

    /** Else such a peer would keep the thread that polls for all. */
    @Test
    void aPeerThatSendsRecordsWithoutContentIsDisconnected() throws InterruptedException {
        SSLContext context = Certificates.make(directory, "both");
        CountDownLatch sent = new CountDownLatch(1);
        try (var listening = TcpServerSocket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1);
                var arena = Arena.ofConfined()) {
            Thread peer = Thread.ofVirtual()
                    .start(() -> sendKeyUpdates(context, listening.address().getPort(), sent));
            TcpSocket socket = accept(listening);
            var wire = new TlsWire(socket, context, false, false);
            wire.handshake(Deadline.in(Waits.seconds(20)));
            wire.readAhead();
            Waits.await(sent);
            long byteOfContent = arena.allocate(1).address();
            assertThatExceptionOfType(WireException.class)
                    .isThrownBy(() -> {
                        for (int i = 0; i < RECORDS; i++) {
                            assertThat(wire.receive(byteOfContent, 1)).isZero();
                            Waits.pass(Duration.ofMillis(1));
                        }
                    })
                    .withMessageContaining("without content");
            wire.abort();
            peer.join();
        }
    }

    private static TcpSocket accept(TcpServerSocket listening) {
        TcpSocket[] accepted = new TcpSocket[1];
        Waits.until("the peer has connected", () -> {
            accepted[0] = listening.accept();
            return accepted[0] != null;
        });
        return accepted[0];
    }

    /** Asks for new keys again and again; each time takes one record. */
    private static void sendKeyUpdates(SSLContext context, int port, CountDownLatch sent) {
        try (var socket = (SSLSocket) context.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port)) {
            for (int i = 0; i < RECORDS; i++) {
                socket.startHandshake();
            }
            sent.countDown();
            int unused = socket.getInputStream().read();
        } catch (IOException e) {
            if (sent.getCount() > 0) {
                throw new UncheckedIOException(e);
            }
        }
    }
}

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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A peer with a certificate that uses TLS in another way than a node. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TlsWireTest {
    private static final int RECORDS = 200;
    /** Java announces room for such records, but makes none. */
    private static final int LONG_RECORD_BYTES = 24 << 10;

    @TempDir
    Path directory;

    /** Else such a peer would keep the thread that polls for all, and the answers to its records would pile up. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aPeerThatSendsRecordsWithoutContentIsDisconnected(boolean withBytesBetween) throws InterruptedException {
        SSLContext context = Certificates.make(directory, "both");
        CountDownLatch sent = new CountDownLatch(1);
        try (var listening = TcpServerSocket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1);
                var arena = Arena.ofConfined()) {
            Thread peer = Thread.ofVirtual()
                    .start(() -> sendKeyUpdates(context, listening.address().getPort(), withBytesBetween, sent));
            TcpSocket socket = accept(listening);
            var wire = new TlsWire(socket, context, false, false);
            wire.handshake(Deadline.in(Waits.seconds(20)));
            wire.readAhead();
            Waits.await(sent);
            long byteOfContent = arena.allocate(1).address();
            assertThatExceptionOfType(WireException.class)
                    .isThrownBy(() -> {
                        for (int i = 0; i < RECORDS; i++) {
                            assertThat(wire.receive(byteOfContent, 1)).isEqualTo(withBytesBetween ? 1 : 0);
                            Waits.pass(Duration.ofMillis(1));
                        }
                    })
                    .withMessageContaining("without content");
            wire.abort();
            peer.join();
        }
    }

    @Test
    void aPeerWhoseRecordIsLongerThanItMayBeIsToldFromOneThatEnded() {
        SSLContext context = Certificates.make(directory, "both");
        try (var listening = TcpServerSocket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1);
                var peer = TcpSocket.connect(listening.address(), TestNode.nanos(20));
                var arena = Arena.ofConfined()) {
            var record = arena.allocate(LONG_RECORD_BYTES);
            record.asByteBuffer().put((byte) 22).putShort((short) 0x0303).putShort((short) LONG_RECORD_BYTES);
            assertThat(peer.send(record.address(), LONG_RECORD_BYTES)).isEqualTo(LONG_RECORD_BYTES);
            var wire = new TlsWire(accept(listening), context, false, false);
            assertThatExceptionOfType(WireException.class)
                    .isThrownBy(() -> wire.handshake(Deadline.in(Waits.seconds(20))))
                    .withMessageContaining("longer than it may be");
            wire.abort();
        }
    }

    /** TLS checks no certificate when it resumes a session: one that expired meanwhile would be good for ever. */
    @Test
    void aPeerThatResumesAFormerSessionIsDisconnected() throws InterruptedException {
        SSLContext context = Certificates.make(directory, "both");
        CountDownLatch received = new CountDownLatch(1);
        try (var listening = TcpServerSocket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1);
                var arena = Arena.ofConfined()) {
            Thread peer = Thread.ofVirtual()
                    .start(() -> connectTwice(context, listening.address().getPort(), received));
            var first = new TlsWire(accept(listening), context, false, false);
            first.handshake(Deadline.in(Waits.seconds(20)));
            long byteOfContent = arena.allocate(1).address();
            Waits.until("a byte is sent", () -> first.send(byteOfContent, 1) == 1);
            Waits.await(received);
            first.abort();
            var second = new TlsWire(accept(listening), context, false, false);
            assertThatExceptionOfType(WireException.class)
                    .isThrownBy(() -> second.handshake(Deadline.in(Waits.seconds(20))))
                    .withMessageContaining("resumes a former session");
            second.abort();
            peer.join();
        }
    }

    /** The first byte comes after the ticket with which the second connection resumes the session. */
    private static void connectTwice(SSLContext context, int port, CountDownLatch received) {
        for (int i = 0; i < 2; i++) {
            try (var socket =
                    (SSLSocket) context.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port)) {
                if (socket.getInputStream().read() >= 0) {
                    received.countDown();
                }
            } catch (IOException e) {
                if (received.getCount() > 0) {
                    throw new UncheckedIOException(e);
                }
            }
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
    private static void sendKeyUpdates(SSLContext context, int port, boolean withBytesBetween, CountDownLatch sent) {
        try (var socket = (SSLSocket) context.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port)) {
            for (int i = 0; i < RECORDS; i++) {
                socket.startHandshake();
                if (withBytesBetween) {
                    socket.getOutputStream().write(i);
                }
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

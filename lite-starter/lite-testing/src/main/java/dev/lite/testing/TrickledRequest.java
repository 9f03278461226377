package dev.lite.testing;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;

/** A request to a web server on loopback whose headers arrive byte by byte, and never end. */
public final class TrickledRequest {
    private TrickledRequest() {}

    /**
     * Sends until the server closes the connection. The bytes are at most 20 ms apart, so that no time-out of a single read ends it.
     *
     * @throws AssertionError if the server does not close it
     */
    public static void awaitEnd(int port) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout(1);
            socket.getOutputStream()
                    .write("GET / HTTP/1.1\r\nHost: localhost\r\nX: ".getBytes(StandardCharsets.US_ASCII));
            Waits.until("the server closes the connection", () -> {
                try {
                    socket.getOutputStream().write('x');
                    return socket.getInputStream().read() < 0;
                } catch (SocketTimeoutException stillOpen) {
                    return false;
                } catch (IOException reset) {
                    return true;
                }
            });
        }
    }
}

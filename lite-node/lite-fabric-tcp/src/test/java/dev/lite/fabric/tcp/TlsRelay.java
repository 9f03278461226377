package dev.lite.fabric.tcp;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;

/** Somebody between two nodes who stole their certificates: one TLS connection to each, and passes on what they say. */
final class TlsRelay implements AutoCloseable {
    private final SSLServerSocket server;
    private final SSLContext client;
    private final int target;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final AtomicLong passed = new AtomicLong();

    TlsRelay(int target, SSLContext asTarget, SSLContext asClient) throws IOException {
        this.target = target;
        client = asClient;
        server = (SSLServerSocket)
                asTarget.getServerSocketFactory().createServerSocket(0, 50, InetAddress.getLoopbackAddress());
        server.setNeedClientAuth(true);
        Thread.ofPlatform().daemon().name("tls-relay").start(this::accept);
    }

    String address() {
        return "127.0.0.1:" + server.getLocalPort();
    }

    /** Bytes that passed in the clear. */
    long passed() {
        return passed.get();
    }

    private void accept() {
        try {
            while (true) {
                SSLSocket from = (SSLSocket) server.accept();
                SSLSocket to =
                        (SSLSocket) client.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), target);
                sockets.add(from);
                sockets.add(to);
                Thread.ofPlatform().daemon().name("tls-relay-there").start(() -> pass(from, to));
                Thread.ofPlatform().daemon().name("tls-relay-back").start(() -> pass(to, from));
            }
        } catch (IOException closed) {
            // The test is over.
        }
    }

    private void pass(Socket from, Socket to) {
        try (from;
                to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            byte[] buffer = new byte[4096];
            for (int got = in.read(buffer); got >= 0; got = in.read(buffer)) {
                passed.addAndGet(got);
                out.write(buffer, 0, got);
            }
        } catch (IOException e) {
            // One of the nodes ended the connection, and so it ends for the other one.
        }
    }

    @Override
    public void close() throws IOException {
        server.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }
}

package dev.lite.bench;

import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/**
 * A plain Java socket without an event loop, as a developer would write it: the calling thread polls a number of times and
 * then blocks in a selector. The counterpart of the TCP fabric. Used by one thread.
 */
final class PlainSocket implements AutoCloseable {
    private final SocketChannel channel;
    private final Selector selector;
    private final int spins;

    private PlainSocket(SocketChannel channel, int spins) throws IOException {
        this.channel = channel;
        this.spins = spins;
        channel.configureBlocking(false);
        channel.socket().setTcpNoDelay(true);
        selector = Selector.open();
        channel.register(selector, SelectionKey.OP_READ);
    }

    static PlainSocket connect(int port, int spins) {
        try {
            return new PlainSocket(
                    SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port)), spins);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot connect to port " + port, e);
        }
    }

    /**
     * Listens on loopback and answers requests of fixed size with replies of fixed size, in a daemon thread. Returns the
     * port.
     */
    static int serve(int requestBytes, int answerBytes, int spins) {
        try {
            var server = ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            Thread.ofPlatform().daemon().name("plain-" + requestBytes).start(() -> {
                try (server;
                        var socket = new PlainSocket(server.accept(), spins)) {
                    var request = ByteBuffer.allocateDirect(requestBytes);
                    var answer = ByteBuffer.allocateDirect(answerBytes);
                    while (true) {
                        socket.receive(request);
                        socket.send(answer);
                    }
                } catch (IOException | UncheckedIOException e) {
                    // The client has finished.
                }
            });
            return server.socket().getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot listen", e);
        }
    }

    /** Sends all of the buffer. */
    void send(ByteBuffer buffer) {
        buffer.clear();
        try {
            while (buffer.hasRemaining()) {
                if (channel.write(buffer) == 0) {
                    Thread.onSpinWait();
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot send", e);
        }
    }

    /** Receives until the buffer is full. */
    void receive(ByteBuffer buffer) {
        buffer.clear();
        int idle = 0;
        try {
            while (buffer.hasRemaining()) {
                int got = channel.read(buffer);
                if (got < 0) {
                    throw new EOFException("the peer closed the connection");
                }
                if (got > 0) {
                    idle = 0;
                } else if (idle++ < spins) {
                    Thread.onSpinWait();
                } else {
                    selector.select();
                    selector.selectedKeys().clear();
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot receive", e);
        }
    }

    @Override
    public void close() {
        try {
            selector.close();
            channel.close();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot close", e);
        }
    }
}

package dev.lite.bench;

import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** A blocking Java socket: each client thread has one of its own, and the server has a thread for each. Used by one thread. */
final class BlockingSocket implements AutoCloseable {
    private final SocketChannel channel;

    private BlockingSocket(SocketChannel channel) throws IOException {
        this.channel = channel;
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    }

    static BlockingSocket connect(int port) {
        try {
            return new BlockingSocket(
                    SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port)));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot connect to port " + port, e);
        }
    }

    /** Answers requests of fixed size with answers of fixed size, a daemon thread for each connection. Returns the port. */
    static int serve(int requestBytes, int answerBytes) {
        try {
            var server = ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            Thread.ofPlatform().daemon().name("blocking-accept").start(() -> {
                while (true) {
                    try {
                        var socket = new BlockingSocket(server.accept());
                        Thread.ofPlatform()
                                .daemon()
                                .name("blocking-" + requestBytes)
                                .start(() -> socket.answer(requestBytes, answerBytes));
                    } catch (IOException e) {
                        return; // the process ends
                    }
                }
            });
            return server.socket().getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot listen", e);
        }
    }

    private void answer(int requestBytes, int answerBytes) {
        var request = ByteBuffer.allocateDirect(requestBytes);
        var answer = ByteBuffer.allocateDirect(answerBytes);
        try (this) {
            while (true) {
                receive(request);
                send(answer);
            }
        } catch (UncheckedIOException e) {
            // The client has finished.
        }
    }

    /** Sends all of the request, then receives until the answer is full. */
    void roundTrip(ByteBuffer request, ByteBuffer answer) {
        send(request);
        receive(answer);
    }

    private void send(ByteBuffer buffer) {
        buffer.clear();
        try {
            while (buffer.hasRemaining()) {
                int unused = channel.write(buffer);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot send", e);
        }
    }

    private void receive(ByteBuffer buffer) {
        buffer.clear();
        try {
            while (buffer.hasRemaining()) {
                if (channel.read(buffer) < 0) {
                    throw new EOFException("the peer closed the connection");
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot receive", e);
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot close", e);
        }
    }
}

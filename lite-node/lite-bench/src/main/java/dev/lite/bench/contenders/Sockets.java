package dev.lite.bench.contenders;

import dev.lite.bench.load.Caller;
import dev.lite.bench.load.Contender;
import dev.lite.bench.load.Operation;
import dev.lite.bench.load.Server;
import dev.lite.bench.load.Workload;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Plain Java sockets over loopback: each caller has a connection, and the server has a thread for each connection. A
 * connection begins with the sizes of its requests and replies.
 */
public class Sockets implements Contender {
    /** A request for a read, and what precedes the bytes of a write. */
    private static final int HEADER_BYTES = 16;

    private final String name;
    private final boolean polling;

    private Sockets(String name, boolean polling) {
        this.name = name;
        this.polling = polling;
    }

    /** Both sides block in their system calls. */
    public static final class Blocking extends Sockets {
        /** For the service loader. */
        public Blocking() {
            super("sockets", false);
        }
    }

    /** Both sides poll before they block, in the same stages as LITE. */
    public static final class Polling extends Sockets {
        /** For the service loader. */
        public Polling() {
            super("sockets, polling", true);
        }
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Server openServer(List<String> arguments) {
        try {
            ServerSocketChannel listening =
                    ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            Thread.ofPlatform().daemon().name("accept").start(() -> accept(listening));
            return new Server() {
                @Override
                public String address() {
                    return Integer.toString(listening.socket().getLocalPort());
                }
            };
        } catch (IOException e) {
            throw new UncheckedIOException("cannot listen", e);
        }
    }

    private void accept(ServerSocketChannel listening) {
        try {
            while (true) {
                SocketChannel accepted = listening.accept();
                Thread.ofPlatform().daemon().name("connection").start(() -> answer(accepted));
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot accept", e);
        }
    }

    private void answer(SocketChannel accepted) {
        try (SocketPipe pipe = new SocketPipe(accepted, polling)) {
            ByteBuffer sizes = ByteBuffer.allocateDirect(2 * Integer.BYTES);
            if (!pipe.receive(sizes)) {
                return;
            }
            ByteBuffer request = ByteBuffer.allocateDirect(sizes.getInt(0));
            ByteBuffer reply = ByteBuffer.allocateDirect(sizes.getInt(Integer.BYTES));
            while (pipe.receive(request)) {
                pipe.send(reply);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("a connection failed", e);
        }
    }

    @Override
    public Caller openCaller(List<String> arguments, String serverAddress) {
        InetSocketAddress address =
                new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(serverAddress));
        return new Caller() {
            @Override
            public Operation operation(Workload workload, int thread) {
                return new RoundTrip(address, workload);
            }

            @Override
            public void close() {
                // The connections end with the process.
            }
        };
    }

    /** A request and its reply on one connection, which the first run opens. */
    private final class RoundTrip implements Operation {
        private final InetSocketAddress address;
        private final ByteBuffer request;
        private final ByteBuffer reply;
        private @Nullable SocketPipe pipe;

        RoundTrip(InetSocketAddress address, Workload workload) {
            this.address = address;
            int bytes = workload.bytes();
            request = ByteBuffer.allocateDirect(
                    switch (workload.kind()) {
                        case READ -> HEADER_BYTES;
                        case WRITE, ADD -> HEADER_BYTES + bytes;
                        default -> bytes;
                    });
            reply = ByteBuffer.allocateDirect(workload.kind() == Workload.Kind.WRITE ? 1 : bytes);
        }

        @Override
        public long run(long nowNs) {
            try {
                SocketPipe open = pipe;
                if (open == null) {
                    open = new SocketPipe(SocketChannel.open(address), polling);
                    pipe = open;
                    ByteBuffer sizes = ByteBuffer.allocateDirect(2 * Integer.BYTES);
                    sizes.putInt(request.capacity()).putInt(reply.capacity());
                    open.send(sizes);
                }
                open.send(request);
                if (!open.receive(reply)) {
                    throw new IllegalStateException("the server closed the connection");
                }
                return nowNs;
            } catch (IOException e) {
                throw new UncheckedIOException("a connection failed", e);
            }
        }
    }
}

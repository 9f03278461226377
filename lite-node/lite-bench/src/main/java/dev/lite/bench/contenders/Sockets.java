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
 * connection begins with the sizes of its requests and replies. A caller with several outstanding requests writes all of them
 * at once, and then reads all replies; the server answers the requests that one read brings with one write.
 */
public class Sockets implements Contender {
    /** A request for a read, and what precedes the bytes of a write. */
    private static final int HEADER_BYTES = 16;

    private static final int BATCH_MAX = 32;
    private static final int BATCH_BYTES_MAX = 1 << 18;

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
            int request = sizes.getInt(0);
            int reply = sizes.getInt(Integer.BYTES);
            int batch = Math.clamp(BATCH_BYTES_MAX / Math.max(request, reply), 1, BATCH_MAX);
            ByteBuffer requests = ByteBuffer.allocateDirect(batch * request);
            ByteBuffer replies = ByteBuffer.allocateDirect(batch * reply);
            while (pipe.receive(requests, request)) {
                int count = requests.position() / request;
                requests.position(requests.position() % request); // their bytes mean nothing
                pipe.send(replies, count * reply);
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

    /** As many requests as are outstanding at once, and their replies, on one connection, which the first run opens. */
    private final class RoundTrip implements Operation {
        private final InetSocketAddress address;
        private final int requestBytes;
        private final int replyBytes;
        private final ByteBuffer requests;
        private final ByteBuffer replies;
        private final Batch batch;
        private @Nullable SocketPipe pipe;

        RoundTrip(InetSocketAddress address, Workload workload) {
            this.address = address;
            int bytes = workload.bytes();
            requestBytes = switch (workload.kind()) {
                case READ -> HEADER_BYTES;
                case WRITE, ADD -> HEADER_BYTES + bytes;
                default -> bytes;
            };
            replyBytes = workload.kind() == Workload.Kind.WRITE ? 1 : bytes;
            requests = ByteBuffer.allocateDirect(requestBytes * workload.underWay());
            replies = ByteBuffer.allocateDirect(replyBytes * workload.underWay());
            batch = new Batch(workload.underWay(), this::exchange);
        }

        @Override
        public long run(long nowNs) {
            return batch.run(nowNs);
        }

        private void exchange() {
            try {
                SocketPipe open = pipe;
                if (open == null) {
                    open = new SocketPipe(SocketChannel.open(address), polling);
                    pipe = open;
                    ByteBuffer sizes = ByteBuffer.allocateDirect(2 * Integer.BYTES);
                    sizes.putInt(requestBytes).putInt(replyBytes);
                    open.send(sizes);
                }
                open.send(requests);
                if (!open.receive(replies)) {
                    throw new IllegalStateException("the server closed the connection");
                }
            } catch (IOException e) {
                throw new UncheckedIOException("a connection failed", e);
            }
        }
    }
}

package dev.lite.fabric.tcp;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/**
 * Somebody between two nodes, who passes their bytes on as he likes. A chunk is what one system call received: while a test waits for
 * each operation, it is one record.
 */
final class Interceptor implements AutoCloseable {
    private static final int CHUNK_BYTES = 1 << 20;

    private final ServerSocket server;
    private volatile int target;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    /** From the connecting side to the accepting one. */
    private volatile Function<byte[], List<byte[]>> there = List::of;

    private volatile Function<byte[], List<byte[]>> back = List::of;

    /** @param target the port to which bytes are passed on */
    Interceptor(int target) throws IOException {
        this.target = target;
        server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread.ofPlatform().daemon().name("interceptor").start(this::accept);
    }

    String address() {
        return "127.0.0.1:" + server.getLocalPort();
    }

    /** Passes the bytes of further connections on to another port. */
    void target(int port) {
        target = port;
    }

    /** Changes the following chunks on the way to the accepting side: each becomes these chunks. */
    void there(Function<byte[], List<byte[]>> change) {
        there = change;
    }

    /** Likewise, on the way to the connecting side. */
    void back(Function<byte[], List<byte[]>> change) {
        back = change;
    }

    private void accept() {
        try {
            while (true) {
                Socket from = server.accept();
                Socket to = new Socket(InetAddress.getLoopbackAddress(), target);
                from.setTcpNoDelay(true);
                to.setTcpNoDelay(true);
                sockets.add(from);
                sockets.add(to);
                Thread.ofPlatform().daemon().name("interceptor-there").start(() -> pass(from, to, true));
                Thread.ofPlatform().daemon().name("interceptor-back").start(() -> pass(to, from, false));
            }
        } catch (IOException closed) {
            // The test is over.
        }
    }

    private void pass(Socket from, Socket to, boolean forth) {
        try (from;
                to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            byte[] buffer = new byte[CHUNK_BYTES];
            for (int got = in.read(buffer); got >= 0; got = in.read(buffer)) {
                for (byte[] chunk : (forth ? there : back).apply(Arrays.copyOf(buffer, got))) {
                    out.write(chunk);
                }
            }
        } catch (IOException e) {
            // One of the nodes ended the connection, and so it ends for the other one.
        }
    }

    /** Changes one bit of the first chunk that is long enough. */
    static Function<byte[], List<byte[]>> flip(int at, int bit) {
        boolean[] done = new boolean[1];
        return chunk -> {
            if (!done[0] && at < chunk.length) {
                done[0] = true;
                chunk[at] ^= (byte) (1 << bit);
            }
            return List.of(chunk);
        };
    }

    /** Passes the first chunk on twice. */
    static Function<byte[], List<byte[]>> repeat() {
        boolean[] done = new boolean[1];
        return chunk -> {
            boolean first = !done[0];
            done[0] = true;
            return first ? List.of(chunk, chunk) : List.of(chunk);
        };
    }

    /** Does not pass the first chunk on. */
    static Function<byte[], List<byte[]>> drop() {
        boolean[] done = new boolean[1];
        return chunk -> {
            boolean first = !done[0];
            done[0] = true;
            return first ? List.of() : List.of(chunk);
        };
    }

    /** Passes the second chunk on before the first. */
    static Function<byte[], List<byte[]>> swap() {
        List<byte[]> held = new ArrayList<>();
        return chunk -> {
            if (held.isEmpty()) {
                held.add(chunk);
                return List.of();
            }
            List<byte[]> both = held.getFirst().length == 0 ? List.of(chunk) : List.of(chunk, held.getFirst());
            held.set(0, new byte[0]);
            return both;
        };
    }

    @Override
    public void close() throws IOException {
        server.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }
}

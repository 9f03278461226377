package dev.lite.cluster;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.apache.zookeeper.ZooDefs.OpCode;

/** Passes connections on to ZooKeeper while it is open. */
final class Gate implements AutoCloseable {
    private static final Set<Integer> READS = Set.of(OpCode.getData, OpCode.getChildren, OpCode.getChildren2);

    private final ServerSocket listening = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final int port;
    private final Consumer<Read> beforeRead;
    private volatile boolean open = true;

    /**
     * A request that reads a znode.
     *
     * @param type see {@link OpCode}
     */
    record Read(int type, String path) {}

    Gate(String connectString) throws IOException {
        this(connectString, read -> {});
    }

    /** @param beforeRead called before a read is passed on, on the thread that does that */
    Gate(String connectString, Consumer<Read> beforeRead) throws IOException {
        port = Integer.parseInt(connectString.substring(connectString.indexOf(':') + 1));
        this.beforeRead = beforeRead;
        Thread.ofVirtual().start(this::accept);
    }

    String connectString() {
        return "127.0.0.1:" + listening.getLocalPort();
    }

    private void accept() {
        try {
            while (true) {
                Socket client = listening.accept();
                Socket server = new Socket(InetAddress.getLoopbackAddress(), port);
                sockets.addAll(List.of(client, server));
                if (!open) {
                    cut();
                }
                Thread.ofPlatform().daemon().start(() -> copyRequests(client, server));
                Thread.ofVirtual().start(() -> copy(server, client));
            }
        } catch (IOException closed) {
            cut();
        }
    }

    private static void copy(Socket from, Socket to) {
        try (from;
                to;
                InputStream in = from.getInputStream();
                OutputStream out = to.getOutputStream()) {
            in.transferTo(out);
        } catch (IOException cut) {
            // Both ends are closed now.
        }
    }

    /** A request is its length, a number, its type and its fields; the first one, which connects, has no type. */
    private void copyRequests(Socket client, Socket server) {
        try (client;
                server;
                DataInputStream in = new DataInputStream(client.getInputStream());
                DataOutputStream out = new DataOutputStream(server.getOutputStream())) {
            while (true) {
                byte[] request = in.readNBytes(in.readInt());
                ByteBuffer fields = ByteBuffer.wrap(request).position(Integer.BYTES);
                int type = fields.getInt();
                if (READS.contains(type)) {
                    byte[] path = new byte[fields.getInt()];
                    fields.get(path);
                    beforeRead.accept(new Read(type, new String(path, StandardCharsets.UTF_8)));
                }
                out.writeInt(request.length);
                out.write(request);
                out.flush();
            }
        } catch (IOException cut) {
            // Both ends are closed now.
        }
    }

    void shut() {
        open = false;
        cut();
    }

    void open() {
        open = true;
    }

    private void cut() {
        for (Socket socket : sockets) {
            try {
                socket.close();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }
        sockets.clear();
    }

    @Override
    public void close() throws IOException {
        listening.close();
        cut();
    }
}

package dev.lite.cluster;

import static dev.lite.cluster.ClusterDirectoryContract.DEADLINE;
import static dev.lite.cluster.ClusterDirectoryContract.advert;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A real ZooKeeper that one process cannot reach while others change what it has cached. */
class MissedChangesTest {
    private static final String CLUSTER = "missed";
    private static final Duration SESSION_TIMEOUT = Waits.seconds(20);

    @RegisterExtension
    static final RealZooKeeper zooKeeper = new RealZooKeeper();

    /** Passes connections on to ZooKeeper while it is open. */
    private static final class Gate implements AutoCloseable {
        private final ServerSocket listening = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
        private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
        private final int port;
        private volatile boolean open = true;

        Gate(String connectString) throws IOException {
            port = Integer.parseInt(connectString.substring(connectString.indexOf(':') + 1));
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
                    Thread.ofVirtual().start(() -> copy(client, server));
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

    private static CuratorDirectory open(String connectString) {
        return CuratorDirectory.open(new CuratorConfig(connectString, CLUSTER, SESSION_TIMEOUT, Waits.seconds(1)));
    }

    @Test
    void aNodeThatRegisteredAgainAndItsFunctionsAreSeenAfterReconnecting() throws IOException {
        try (Gate gate = new Gate(zooKeeper.connectString());
                CuratorDirectory watcher = open(gate.connectString())) {
            RecordingListener heard = new RecordingListener();
            watcher.addListener(heard);
            NodeRecord former;
            try (CuratorDirectory node = open(zooKeeper.connectString())) {
                former = node.register(advert("a"), DEADLINE);
                assertThat(node.publishFunctions(former, List.of("old"), DEADLINE))
                        .isTrue();
                Waits.until("the node is seen", () -> watcher.nodes().equals(List.of(former)));
                assertThat(watcher.nodesServing("old", DEADLINE)).containsExactly("a");
                gate.shut();
                Waits.until("the connection is lost", () -> heard.availability.contains(false));
            }
            try (CuratorDirectory node = open(zooKeeper.connectString())) {
                NodeRecord now = node.register(advert("a"), DEADLINE);
                assertThat(now.incarnation()).isGreaterThan(former.incarnation());
                assertThat(node.publishFunctions(now, List.of("new"), DEADLINE)).isTrue();

                gate.open();

                Waits.until(
                        "the new registration is seen", () -> watcher.nodes().equals(List.of(now)));
                Waits.until(
                        "the new functions are seen",
                        () -> watcher.nodesServing("new", DEADLINE).equals(List.of("a")));
            }
        }
    }
}

package dev.lite.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.fabric.driver.Waiting;
import dev.lite.os.Epoll;
import dev.lite.os.OsException;
import dev.lite.os.TcpServerSocket;
import dev.lite.os.TcpSocket;
import dev.lite.os.wire.PlainWire;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The lanes that a fabric polls, as the system lets it watch them. */
class LanePollingTest {
    private static final int BACKLOG = 16;
    private static final int LANES = 3;

    private final List<TcpSocket> sockets = new ArrayList<>();

    /** Else each such connection would keep the buffers and keys of its lanes, and a peer tries again and again. */
    @Test
    void aConnectionOfWhichOneLaneCannotBeWatchedLeavesNothing() {
        var loopback = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        var server = TcpServerSocket.bind(loopback, BACKLOG);
        try (var node = new TestNode("a");
                var waiting = Waiting.open(TestNode.nanos(1));
                var epoll = Epoll.create()) {
            var polling = new LanePolling(node, epoll, 1000);
            for (int tries = 0; tries < LANES; tries++) {
                var link = link(node, epoll, waiting, server.address());
                epoll.add(sockets.getLast(), Epoll.IN, 0); // so that it cannot be added once more
                assertThatThrownBy(() -> polling.watch(endpoint(), link)).isInstanceOf(OsException.class);
                assertThat(polling.all()).isEmpty();
                link.release();
            }
            var link = link(node, epoll, waiting, server.address());
            polling.watch(endpoint(), link);
            assertThat(polling.all()).containsExactly(link.lanes());
            assertThat(link.lanes()).extracting(TcpLane::key).containsExactlyInAnyOrder(0, 1, 2);
            link.release();
        } finally {
            server.close();
        }
    }

    private static TcpEndpoint endpoint() {
        return new TcpEndpoint(false, false, (peer, tag, timeout, over) -> over.accept(null));
    }

    private TcpLink link(TestNode node, Epoll epoll, Waiting waiting, InetSocketAddress peer) {
        var departures = new Departures();
        var checks = new StandbyChecks(waiting, departures);
        var memory = new Memory(node.address(), TestNode.MEMORY_BYTES);
        var lanes = new TcpLane[LANES];
        for (int i = 0; i < LANES; i++) {
            var socket = TcpSocket.connect(peer, TestNode.nanos(10));
            sockets.add(socket);
            lanes[i] = new TcpLane(new PlainWire(socket), socket, memory, epoll, departures, checks, reason -> {
                throw new AssertionError(reason);
            });
        }
        return new TcpLink(new byte[0], TestNode.MEMORY_BYTES, lanes, "peer");
    }
}

package dev.lite.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.conformance.IgnoringHandler;
import dev.lite.fabric.driver.ConnectionLimits;
import dev.lite.fabric.driver.Connections;
import dev.lite.fabric.driver.LaneConnector;
import dev.lite.fabric.driver.LaneHandshake;
import dev.lite.fabric.driver.Waiting;
import dev.lite.os.Epoll;
import dev.lite.os.OsException;
import dev.lite.os.TcpServerSocket;
import dev.lite.os.TcpSocket;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.wire.PlainWire;
import dev.lite.testing.Waits;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is left of lanes when the process has no memory left. */
class TcpConnectorTest {
    private static final int BACKLOG = 16;

    private final Arena arena = Arena.ofShared();
    private final Memory memory = new Memory(arena.allocate(4096).address(), 4096);
    private final Epoll epoll = Epoll.create();
    private final Waiting waiting = Waiting.open(TestNode.nanos(1));
    private final Departures departures = new Departures();
    private final StandbyChecks checks = new StandbyChecks(waiting, departures);
    private final TcpServerSocket server =
            TcpServerSocket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), BACKLOG);
    private final TcpSocket first = TcpSocket.connect(server.address(), TestNode.nanos(10));
    private final TcpSocket second = TcpSocket.connect(server.address(), TestNode.nanos(10));

    @AfterEach
    void close() {
        first.close();
        second.close();
        server.close();
        waiting.close();
        epoll.close();
        arena.close();
    }

    /** Has memory for some allocations. */
    private static final class SmallArena implements Arena {
        private final Arena real = Arena.ofShared();
        private int left;

        SmallArena(int left) {
            this.left = left;
        }

        @Override
        public MemorySegment allocate(long bytes, long alignment) {
            if (left-- == 0) {
                throw new OutOfMemoryError("no memory left, on purpose");
            }
            return real.allocate(bytes, alignment);
        }

        @Override
        public MemorySegment.Scope scope() {
            return real.scope();
        }

        @Override
        public void close() {
            real.close();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3})
    void aLaneForWhoseBuffersThereIsNoMemoryKeepsNone(int allocations) {
        var small = new SmallArena(allocations);
        assertThatExceptionOfType(OutOfMemoryError.class)
                .isThrownBy(() -> new TcpLane(
                        new PlainWire(first),
                        first,
                        memory,
                        epoll,
                        departures,
                        checks,
                        reason -> {
                            throw new AssertionError(reason);
                        },
                        small));
        assertThat(small.scope().isAlive()).isFalse();
    }

    /** There is no memory for the second lane, once its handshake is over. */
    private final class TwoLanes extends AbstractList<TcpConnector.OpenLane> {
        /** The buffers are made in the last of the passes over the lanes. */
        private int passesBefore = 2;

        @Override
        public TcpConnector.OpenLane get(int index) {
            if (index == 0) {
                return new TcpConnector.OpenLane(new PlainWire(first), first, false);
            }
            if (passesBefore-- == 0) {
                throw new OutOfMemoryError("no memory left, on purpose");
            }
            return new TcpConnector.OpenLane(new PlainWire(second), second, false);
        }

        @Override
        public int size() {
            return 2;
        }
    }

    private static final class Ignoring implements IgnoringHandler, Connections.Driver<TcpEndpoint, TcpLink> {
        @Override
        public void opened(TcpEndpoint endpoint, TcpLink link) {}

        @Override
        public boolean ended(TcpEndpoint endpoint) {
            return true;
        }

        @Override
        public void finished(TcpEndpoint endpoint) {}

        @Override
        public void discard(TcpLink link) {}

        @Override
        public void wake() {}
    }

    private TcpConnector connector() {
        var ignoring = new Ignoring();
        var connections =
                new Connections<TcpEndpoint, TcpLink>("tcp", "a", new ConnectionLimits(1, 10_000), ignoring, ignoring);
        var self = LaneHandshake.Self.of("tcp", new FabricConfig("a", new byte[0], Path.of("/"), Map.of()));
        var handshake = new LaneHandshake(TcpFabric.PROTOCOL, TcpOptions.LANES_MAX, null, self, false, 4096);
        return new TcpConnector(
                connections, handshake, TcpOptions.of(Map.of()), null, memory, epoll, departures, checks);
    }

    /** A peer tries again and again. */
    @Test
    void aConnectionOfWhichOneLaneCannotBeMadeKeepsTheBuffersOfNoOther() {
        var connector = connector();
        try {
            var lanes = new TwoLanes();
            assertThatExceptionOfType(OutOfMemoryError.class)
                    .isThrownBy(() -> connector.join(
                            connector.create(true),
                            new LaneConnector.Peer("b", new byte[0], 4096, 1),
                            lanes,
                            new WireMessages(new PlainWire(first)),
                            false,
                            Deadline.in(Duration.ofNanos(TestNode.nanos(10)))));
            assertThatExceptionOfType(OsException.class)
                    .as("the first lane is released")
                    .isThrownBy(first::peerAddress);
        } finally {
            connector.stop();
        }
    }

    /** Else the fabric's close would wait for a host that is switched off. */
    @Test
    void aStopEndsAConnectThatGetsNoAnswer() {
        var connector = connector();
        var queue = new ArrayList<TcpSocket>();
        var failure = new CompletableFuture<String>();
        try (var silent = TcpServerSocket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1)) {
            fill(queue, silent);
            String address = "127.0.0.1:" + silent.address().getPort();
            Thread connecting = Thread.ofPlatform().daemon().start(() -> {
                try {
                    connector.connect(connector.create(false), address, Deadline.in(Duration.ofHours(1)));
                } catch (RuntimeException e) {
                    failure.complete(String.valueOf(e.getMessage()));
                }
            });
            Waits.until(
                    "it waits for an answer",
                    () -> Arrays.stream(connecting.getStackTrace())
                            .anyMatch(frame -> frame.getMethodName().equals("ppoll")));
            connector.stop();
            Waits.join(connecting);
            assertThat(failure.join()).contains("connect", address);
        } finally {
            connector.stop();
            queue.forEach(TcpSocket::close);
        }
    }

    /** Connects until the system drops what asks for a connection. */
    private static void fill(List<TcpSocket> queue, TcpServerSocket server) {
        while (true) {
            assertThat(queue).hasSizeLessThan(BACKLOG);
            try {
                queue.add(TcpSocket.connect(
                        server.address(), Duration.ofMillis(200).toNanos()));
            } catch (OsException e) {
                assertThat(e).hasMessageContaining("ETIMEDOUT");
                return;
            }
        }
    }
}

package dev.lite.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.fabric.driver.Waiting;
import dev.lite.os.Epoll;
import dev.lite.os.OsException;
import dev.lite.os.RawMemory;
import dev.lite.os.TcpServerSocket;
import dev.lite.os.TcpSocket;
import dev.lite.os.wire.PlainWire;
import dev.lite.os.wire.Wire;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** What the poll role watches and receives. */
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
                var link = link(LANES, node, epoll, waiting, server.address());
                epoll.add(sockets.getLast(), Epoll.IN, 0); // so that it cannot be added once more
                assertThatThrownBy(() -> polling.watch(endpoint(), link)).isInstanceOf(OsException.class);
                assertThat(polling.all()).isEmpty();
                link.release();
            }
            var link = link(LANES, node, epoll, waiting, server.address());
            polling.watch(endpoint(), link);
            assertThat(polling.all()).containsExactly(link.lanes());
            assertThat(link.lanes()).extracting(TcpLane::key).containsExactlyInAnyOrder(0, 1, 2);
            link.release();
        } finally {
            server.close();
        }
    }

    /** An encrypting wire keeps the rest of a record, which the socket does not show: nobody would be woken for it. */
    @Test
    void noFrameStaysBehindInTheWireIfThePaddingOfALongOneBeginsARecord() {
        int payload = Inbound.BUFFER_BYTES - Frame.HEADER_BYTES - 1;
        int immediates = Inbound.BUFFER_BYTES / Frame.HEADER_BYTES + 10;
        try (var arena = Arena.ofConfined()) {
            var memory = arena.allocate(Inbound.BUFFER_BYTES, 8);
            var first = arena.allocate(Frame.HEADER_BYTES + payload, 8);
            Frame.encode(first.address(), Frame.WRITE, 0, payload, 0, 0, 0, 0);
            var frames = arena.allocate(Frame.ALIGNMENT + (long) immediates * Frame.HEADER_BYTES, 8);
            for (int i = 0; i < immediates; i++) {
                long header = frames.address() + Frame.ALIGNMENT + (long) i * Frame.HEADER_BYTES;
                Frame.encode(header, Frame.WRITE_IMM, 0, 0, i, 0, 0, 0);
            }
            var wire = new RecordsWire(first, frames.asSlice(Frame.ALIGNMENT - Frame.padding(payload)));
            var outbound = new Outbound(new CountingWire(arena), new CombiningTest.Left(false), arena);
            var inbound = new Inbound(wire, outbound, new Memory(memory.address(), memory.byteSize()), arena);

            var arrived = new ArrayList<Integer>();
            for (var step = inbound.step(); step != Inbound.Step.IDLE; step = inbound.step()) {
                if (step == Inbound.Step.IMMEDIATE) {
                    arrived.add(inbound.immediate());
                }
            }

            assertThat(arrived).hasSize(immediates).isSorted();
        }
    }

    /** Its ping lies behind the payload, and the acknowledgement comes after it: else a slow connection would end in the middle. */
    @Test
    void aPeerHearsOfThisNodeInEachTickWhileItSendsALongPayload() {
        int piece = 1 << 10;
        var loopback = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        var server = TcpServerSocket.bind(loopback, BACKLOG);
        try (var node = new TestNode("a");
                var arena = Arena.ofConfined();
                var waiting = Waiting.open(TestNode.nanos(1));
                var epoll = Epoll.create()) {
            var polling = new LanePolling(node, epoll, 1000);
            var link = link(1, node, epoll, waiting, server.address());
            polling.watch(endpoint(), link);
            try (var peer = server.accept()) {
                long address = arena.allocate(piece, 8).address();
                Frame.encode(address, Frame.WRITE, 0, 1 << 20, 0, 0, 0, 0);
                assertThat(peer.send(address, Frame.HEADER_BYTES)).isEqualTo(Frame.HEADER_BYTES);
                for (int tick = 0; tick < 3 * LanePolling.TICKS; tick++) {
                    assertThat(peer.send(address, piece)).isEqualTo(piece);
                    long before = link.lanes()[0].inbound.received();
                    long deadlineNs = System.nanoTime() + TestNode.nanos(10);
                    while (link.lanes()[0].inbound.received() == before && System.nanoTime() - deadlineNs < 0) {
                        polling.poll(1, System.nanoTime());
                    }

                    polling.tick();

                    assertThat(peer.awaitReadable(TestNode.nanos(10)))
                            .as("something came in tick %d", tick)
                            .isTrue();
                    assertThat(peer.receive(address, piece)).isEqualTo(Frame.HEADER_BYTES);
                    assertThat(Frame.kind(address)).isEqualTo(Frame.ACKNOWLEDGEMENT);
                }
            }
            link.release();
        } finally {
            server.close();
        }
    }

    /** Else a peer with records of a single byte would keep the thread that polls for all. */
    @Test
    void aTurnEndsAfterSomeRecordsHoweverFewBytesTheyHave() {
        var loopback = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        var server = TcpServerSocket.bind(loopback, BACKLOG);
        try (var node = new TestNode("a");
                var arena = Arena.ofConfined();
                var waiting = Waiting.open(TestNode.nanos(1));
                var epoll = Epoll.create()) {
            var polling = new LanePolling(node, epoll, 1000);
            var wire = new SingleBytesWire(arena);
            var link = link(1, node, epoll, waiting, server.address(), socket -> wire);
            polling.watch(endpoint(), link);
            for (int turn = 1; turn <= 3; turn++) {
                long before = wire.records;

                assertThat(polling.poll(16, System.nanoTime())).isZero();

                assertThat(wire.records - before).as("records of turn %d", turn).isEqualTo(LanePolling.TURN_RECORDS);
                assertThat(polling.hasMore()).isTrue();
            }
            link.release();
            sockets.getLast().abort();
        } finally {
            server.close();
        }
    }

    /** Takes the frames that the lane sends by itself, such as acknowledgements. */
    private abstract static class ReceivingWire extends QuietWire {
        @Override
        public long send(long address, long length) {
            return length;
        }

        @Override
        public long sendVector(long iovec, int count) {
            throw new AssertionError("nothing is sent");
        }
    }

    /** As an encrypting wire whose peer sends a long payload, one byte in each record. */
    private static final class SingleBytesWire extends ReceivingWire {
        private final MemorySegment header;
        long records;

        SingleBytesWire(Arena arena) {
            header = arena.allocate(Frame.HEADER_BYTES, 8);
            Frame.encode(header.address(), Frame.WRITE, 0, 1 << 20, 0, 0, 0, 0);
        }

        @Override
        public long receive(long address, long length) {
            byte next = records < header.byteSize() ? header.get(ValueLayout.JAVA_BYTE, records) : 1;
            RawMemory.fill(address, 1, next);
            records++;
            return 1;
        }

        @Override
        public long records() {
            return records;
        }
    }

    /** As an encrypting wire: receives at most one record at a time, and keeps what there was no room for. */
    private static final class RecordsWire extends ReceivingWire {
        private final ArrayDeque<MemorySegment> left;
        private boolean drained;

        RecordsWire(MemorySegment... records) {
            left = new ArrayDeque<>(List.of(records));
        }

        @Override
        public long receive(long address, long length) {
            var record = left.poll();
            if (record == null) {
                drained = true;
                return 0;
            }
            long taken = Math.min(length, record.byteSize());
            RawMemory.copyFrom(record, 0, address, taken);
            drained = taken == record.byteSize();
            if (!drained) {
                left.addFirst(record.asSlice(taken));
            }
            return taken;
        }

        @Override
        public boolean isDrained() {
            return drained;
        }
    }

    private static TcpEndpoint endpoint() {
        return new TcpEndpoint(false, false, (peer, tag, timeout, over) -> over.accept(null));
    }

    private TcpLink link(int count, TestNode node, Epoll epoll, Waiting waiting, InetSocketAddress peer) {
        return link(count, node, epoll, waiting, peer, PlainWire::new);
    }

    private TcpLink link(
            int count,
            TestNode node,
            Epoll epoll,
            Waiting waiting,
            InetSocketAddress peer,
            Function<TcpSocket, Wire> wires) {
        var departures = new Departures();
        var checks = new StandbyChecks(waiting, departures);
        var memory = new Memory(node.address(), TestNode.MEMORY_BYTES);
        var lanes = new TcpLane[count];
        for (int i = 0; i < count; i++) {
            var socket = TcpSocket.connect(peer, TestNode.nanos(10));
            sockets.add(socket);
            lanes[i] = new TcpLane(wires.apply(socket), socket, memory, epoll, departures, checks, reason -> {
                throw new AssertionError(reason);
            });
        }
        return new TcpLink(new byte[0], TestNode.MEMORY_BYTES, lanes, "peer");
    }
}

package dev.lite.session.channel;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.os.TcpServerSocket;
import dev.lite.os.TcpSocket;
import dev.lite.os.waiting.Turns;
import dev.lite.os.wire.SealedWire;
import dev.lite.session.waiting.PolledWaits;
import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Both ends of a channel in this process, each with its own mapping, and a third mapping for tests that write to it. */
final class TestChannel implements AutoCloseable {
    static final long LONG_NS = Waits.seconds(20).toNanos();
    static final int SPINS = 200;

    final ChannelArea area;
    final SharedMemory memory;
    final ChannelCaller caller;
    final ChannelServer server;
    final ChannelGroup group;

    TestChannel(int slots, int spins) {
        area = new ChannelArea(slots, 1024);
        memory = area.create();
        caller = new ChannelCaller(mapAgain(memory), area, "shop/order at node-2", spins, new Turns());
        server = new ChannelServer(mapAgain(memory), area, "shop/order", "node-1", "web");
        group = new ChannelGroup(ended -> {}, new PolledWaits("polls", spins), spins);
        if (!group.add(server)) {
            throw new AssertionError("the group has no room");
        }
    }

    private TestChannel(ChannelArea area, int spins, PolledWaits waits, LinkWatch watch, LinkSocket[] sockets) {
        this.area = area;
        memory = area.create();
        caller = ChannelCaller.linked(mapAgain(memory), area, "shop/order at node-2", spins, waits, sockets[0], watch);
        server = ChannelServer.linked(area.create(), area, "shop/order", "node-1", "web", sockets[1], watch);
        group = new ChannelGroup(ended -> {}, new PolledWaits("polls", spins), spins);
        if (!group.add(server)) {
            throw new AssertionError("the group has no room");
        }
    }

    /** Both ends of a channel between hosts, over the loopback device. The memory is the caller's. */
    static TestChannel linked(int slots, int spins, LinkWatch watch, boolean encrypted) {
        return linked(new ChannelArea(slots, 1024), spins, watch, encrypted);
    }

    static TestChannel linked(ChannelArea area, int spins, LinkWatch watch, boolean encrypted) {
        return new TestChannel(area, spins, new PolledWaits("calls", spins), watch, sockets(encrypted));
    }

    /** The same, of an application that calls through several channels. */
    static TestChannel linked(ChannelArea area, PolledWaits waits, LinkWatch watch) {
        return new TestChannel(area, SPINS, waits, watch, sockets(false));
    }

    /** Both ends of a connection. */
    static LinkSocket[] sockets(boolean encrypted) {
        try (TcpServerSocket listening =
                TcpServerSocket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1)) {
            TcpSocket one = TcpSocket.connect(listening.address(), LONG_NS);
            TcpSocket other = listening.accept();
            byte[] first = new byte[SealedWire.KEY_BYTES];
            byte[] second = new byte[SealedWire.KEY_BYTES];
            second[0] = 1;
            return new LinkSocket[] {
                LinkSocket.of(one, encrypted ? new LinkKeys(first, second) : LinkKeys.NONE),
                LinkSocket.of(other, encrypted ? new LinkKeys(second, first) : LinkKeys.NONE)
            };
        }
    }

    TestChannel(int slots) {
        this(slots, SPINS);
    }

    static SharedMemory mapAgain(SharedMemory memory) {
        return SharedMemory.openFile(Path.of("/proc/self/fd/" + memory.descriptor()));
    }

    /** Calls with a number and returns the number that was replied. */
    long call(long number, long timeoutNs) {
        byte[] reply = new byte[8];
        int length = caller.call(longs(number), MemorySegment.ofArray(reply), timeoutNs);
        if (length != Long.BYTES) {
            throw new AssertionError("a reply of %d bytes".formatted(length));
        }
        return MemorySegment.ofArray(reply).get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
    }

    static MemorySegment longs(long number) {
        return MemorySegment.ofArray(new byte[Long.BYTES])
                .fill((byte) 0)
                .copyFrom(MemorySegment.ofArray(new long[] {number}));
    }

    static MemorySegment text(String text) {
        return MemorySegment.ofArray(text.getBytes(StandardCharsets.UTF_8));
    }

    /** Receives; throws when the channel has ended. */
    boolean receive(ReceivedRequest request, long timeoutNs) {
        boolean received = group.receive(request, null, System.nanoTime() + timeoutNs);
        if (!received && server.isEnded()) {
            throw server.endedException();
        }
        return received;
    }

    ReceivedRequest receive() {
        ReceivedRequest request = new ReceivedRequest(area);
        if (!receive(request, LONG_NS)) {
            throw new AssertionError("no request came");
        }
        return request;
    }

    static long number(ReceivedRequest request) {
        return request.bytes().get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
    }

    /** Answers each number with its negative until the channel ends. */
    void serve() {
        ReceivedRequest request = new ReceivedRequest(area);
        try {
            while (true) {
                if (receive(request, LONG_NS)) {
                    server.reply(request.call(), longs(-number(request)));
                }
            }
        } catch (ChannelEndedException e) {
            // the end
        }
    }

    static Thread start(boolean virtual, Runnable task) {
        return virtual
                ? Thread.ofVirtual().start(task)
                : Thread.ofPlatform().daemon().start(task);
    }

    /** Calls from many threads, which many threads serve; then ends the channel. */
    void assertEveryCallGetsItsOwnReply(int calls, int callers, boolean virtual, int servers, boolean virtualServers) {
        List<Thread> serving = new ArrayList<>();
        for (int i = 0; i < servers; i++) {
            serving.add(start(virtualServers, this::serve));
        }
        int rounds = calls / callers;
        AtomicInteger right = new AtomicInteger();
        List<Thread> calling = new ArrayList<>();
        for (int i = 0; i < callers; i++) {
            long first = (long) i * rounds;
            calling.add(start(virtual, () -> {
                for (int round = 0; round < rounds; round++) {
                    if (call(first + round, LONG_NS) == -(first + round)) {
                        right.incrementAndGet();
                    }
                }
            }));
        }
        calling.forEach(Waits::join);
        assertThat(right).hasValue(callers * rounds);
        caller.close();
        serving.forEach(Waits::join);
    }

    int word(int slot) {
        return RawMemory.getIntVolatile(wordAddress(slot));
    }

    long wordAddress(int slot) {
        return memory.address() + ChannelArea.slotOffset(slot) + ChannelArea.WORD;
    }

    int doorbell() {
        return RawMemory.getIntVolatile(memory.address() + ChannelArea.DOORBELL);
    }

    @Override
    public void close() {
        caller.close();
        server.close();
        memory.close();
    }
}

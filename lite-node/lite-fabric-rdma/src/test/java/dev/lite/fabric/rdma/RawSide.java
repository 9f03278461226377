package dev.lite.fabric.rdma;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import com.ibm.disni.verbs.impl.NativeDispatcher;
import dev.lite.fabric.rdma.verbs.Completion;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.Inet4Address;

/** One side of a connection, on the native methods alone, with one page of registered memory. For one thread. */
final class RawSide implements AutoCloseable {
    static final int SENDS = 8;
    static final int MEMORY = 4096;

    static final int WRITE = 0;
    static final int WRITE_WITH_IMMEDIATE = 1;
    static final int SEND = 2;
    static final int READ = 4;
    static final int COMPARE_AND_SWAP = 5;
    static final int FETCH_AND_ADD = 6;

    static final int ADDR_RESOLVED = 0;
    static final int ROUTE_RESOLVED = 2;
    static final int CONNECT_REQUEST = 4;
    static final int ESTABLISHED = 9;
    static final int DISCONNECTED = 10;

    /** Local write, remote write, read and atomics. */
    private static final int EVERYTHING = 15;

    private static final int SIGNALED = 2;
    private static final int RELIABLE = 2;
    private static final short TCP_PORT_SPACE = 0x0106;
    private static final short INET = 2;
    private static final long REQUEST_BYTES = 128;
    private static final int WC_BYTES = 48;
    private static final int COMPLETIONS_MAX = 16;

    final NativeDispatcher natives;
    final Arena arena = Arena.ofConfined();
    final long channel;
    final MemorySegment memory = arena.allocate(MEMORY, 4096);

    long id;
    long pd;
    long completionChannel;
    long cq;
    long qp;
    long region;
    int key;

    private final MemorySegment eventIds = arena.allocate(16, 8);
    private final MemorySegment keys = arena.allocate(12, 4);
    private final MemorySegment request = arena.allocate(REQUEST_BYTES, 8);
    private final MemorySegment piece = arena.allocate(16, 8);
    private final MemorySegment completions = arena.allocate(WC_BYTES * COMPLETIONS_MAX, 8);

    RawSide(NativeDispatcher natives) throws IOException {
        this.natives = natives;
        channel = natives._createEventChannel();
    }

    /** Connects two sides with each other. */
    static RawSide[] connected(NativeDispatcher natives, Inet4Address address) throws IOException {
        var server = new RawSide(natives);
        var client = new RawSide(natives);
        long listener = server.listen(address);
        try {
            client.id = natives._createId(client.channel, TCP_PORT_SPACE);
            natives._resolveAddr(client.id, 0, client.socketAddress(address, server.port(listener)), (int)
                    Waits.seconds(2).toMillis());
            client.await(ADDR_RESOLVED);
            natives._resolveRoute(client.id, (int) Waits.seconds(2).toMillis());
            client.await(ROUTE_RESOLVED);
            client.prepare();
            natives._connect(client.id, 7, 7, 0, (byte) 0);
            server.id = server.await(CONNECT_REQUEST);
            server.prepare();
            natives._accept(server.id, 7, 7);
            client.await(ESTABLISHED);
            server.await(ESTABLISHED);
        } finally {
            natives._destroyCmId(listener);
        }
        return new RawSide[] {client, server};
    }

    long listen(Inet4Address address) throws IOException {
        long listener = natives._createId(channel, TCP_PORT_SPACE);
        natives._bindAddr(listener, socketAddress(address, (short) 0));
        natives._listen(listener, 4);
        return listener;
    }

    /** The port in network order. */
    short port(long listener) {
        var address = arena.allocate(16, 8);
        if (natives._getSrcAddr(listener, address.address()) != 0 || address.get(JAVA_SHORT, 0) != INET) {
            throw new AssertionError("no source address");
        }
        return address.get(JAVA_SHORT, 2);
    }

    private long socketAddress(Inet4Address address, short port) {
        var bytes = arena.allocate(16, 8);
        bytes.set(JAVA_SHORT, 0, INET);
        bytes.set(JAVA_SHORT, 2, port);
        MemorySegment.copy(MemorySegment.ofArray(address.getAddress()), 0, bytes, 4, 4);
        return bytes.address();
    }

    /** Waits for an event of the connection manager; returns the event's identifier. */
    long await(int expected) {
        int event = natives._getCmEvent(channel, eventIds.address(), eventIds.address() + 8, (int)
                Waits.seconds(5).toMillis());
        if (event != expected) {
            throw new AssertionError("event %d instead of %d".formatted(event, expected));
        }
        return eventIds.get(JAVA_LONG, 8);
    }

    void prepare() throws IOException {
        long context = natives._getContext(id);
        pd = natives._allocPd(context);
        completionChannel = natives._createCompChannel(context);
        cq = natives._createCQ(context, completionChannel, COMPLETIONS_MAX, 0);
        qp = natives._createQP(id, pd, cq, cq, RELIABLE, SENDS, SENDS, 0);
        region = natives._regMr(
                pd, memory.address(), MEMORY, EVERYTHING, keys.address(), keys.address() + 4, keys.address() + 8);
        if (keys.get(JAVA_INT, 0) == 0) {
            throw new AssertionError("no key");
        }
        key = keys.get(JAVA_INT, 4);
    }

    /** Posts a request between the same offset of both memories. */
    void post(int opcode, long requestId, int offset, int length, RawSide peer, int immediate) throws IOException {
        post(opcode, requestId, offset, length, peer.memory.address() + offset, peer.key, immediate, true);
    }

    void post(
            int opcode,
            long requestId,
            int offset,
            int length,
            long remote,
            int remoteKey,
            int immediate,
            boolean signaled)
            throws IOException {
        start(requestId, offset, length);
        request.set(JAVA_INT, 28, opcode);
        request.set(JAVA_INT, 32, signaled ? SIGNALED : 0);
        request.set(JAVA_INT, 36, immediate);
        request.set(JAVA_LONG, 40, remote);
        request.set(JAVA_INT, 48, remoteKey);
        natives._postSend(qp, request.address());
    }

    void postAtomic(int opcode, long requestId, int offset, long compareOrAdd, long swap, RawSide peer)
            throws IOException {
        start(requestId, offset, Long.BYTES);
        request.set(JAVA_INT, 28, opcode);
        request.set(JAVA_INT, 32, SIGNALED);
        request.set(JAVA_LONG, 40, peer.memory.address() + offset);
        request.set(JAVA_LONG, 48, compareOrAdd);
        request.set(JAVA_LONG, 56, swap);
        request.set(JAVA_INT, 64, peer.key);
        natives._postSend(qp, request.address());
    }

    /** Posts {@code count} requests of eight bytes, between the starts of both memories, in one call. */
    void postChain(int opcode, long firstRequestId, int count, RawSide peer) throws IOException {
        start(firstRequestId, 0, Long.BYTES);
        var chain = arena.allocate(REQUEST_BYTES * count, 8);
        for (int index = 0; index < count; index++) {
            var link = chain.asSlice((long) index * REQUEST_BYTES, REQUEST_BYTES);
            link.copyFrom(request);
            link.set(JAVA_LONG, 0, firstRequestId + index);
            link.set(JAVA_LONG, 8, index == count - 1 ? 0 : link.address() + REQUEST_BYTES);
            link.set(JAVA_INT, 28, opcode);
            link.set(JAVA_INT, 32, SIGNALED);
            link.set(JAVA_LONG, 40, peer.memory.address());
            link.set(JAVA_INT, 48, peer.key);
        }
        natives._postSend(qp, chain.address());
    }

    void receive(long requestId, int offset, int length) throws IOException {
        start(requestId, offset, length);
        natives._postRecv(qp, request.address());
    }

    private void start(long requestId, int offset, int length) {
        request.fill((byte) 0);
        piece.set(JAVA_LONG, 0, memory.address() + offset);
        piece.set(JAVA_INT, 8, length);
        piece.set(JAVA_INT, 12, keys.get(JAVA_INT, 0));
        request.set(JAVA_LONG, 0, requestId);
        request.set(JAVA_LONG, 16, length == 0 ? 0 : piece.address());
        request.set(JAVA_INT, 24, length == 0 ? 0 : 1);
    }

    /** Polls until there is a completion; returns the first. */
    Completion poll() throws IOException {
        long deadline = System.nanoTime() + Waits.seconds(10).toNanos();
        while (System.nanoTime() - deadline < 0) {
            int count = natives._pollCQ(cq, 1, completions.address());
            if (count == 1) {
                return new Completion(
                        completions.get(JAVA_LONG, 0),
                        completions.get(JAVA_INT, 8),
                        completions.get(JAVA_INT, 12),
                        completions.get(JAVA_INT, 20),
                        completions.get(JAVA_INT, 24),
                        completions.get(JAVA_INT, 36));
            }
            Thread.onSpinWait();
        }
        throw new AssertionError("no completion in time");
    }

    /** Destroys everything in the order that rdma-core requires; fails if a result is not 0. */
    @Override
    public void close() throws IOException {
        if (id != 0) {
            expectZero("destroyQP", qp == 0 ? 0 : natives._destroyQP(id));
            if (region != 0) {
                natives._deregMr(region);
            }
            expectZero("destroyCQ", cq == 0 ? 0 : natives._destroyCQ(cq));
            expectZero(
                    "destroyCompChannel", completionChannel == 0 ? 0 : natives._destroyCompChannel(completionChannel));
            expectZero("deallocPd", pd == 0 ? 0 : natives._deallocPd(pd));
            expectZero("destroyCmId", natives._destroyCmId(id));
        }
        expectZero("destroyEventChannel", natives._destroyEventChannel(channel));
        arena.close();
    }

    private static void expectZero(String call, int result) {
        if (result != 0) {
            throw new AssertionError("%s: %d".formatted(call, result));
        }
    }

    /** A work completion. */
    record Completion(long requestId, int status, int opcode, int bytes, int immediate, int flags) {}
}

package dev.lite.fabric.shm;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricCapabilities;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricException;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import dev.lite.os.OsException;
import dev.lite.os.UnixServerSocket;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/** The shared-memory fabric of one node; see the package for how it works. */
final class ShmFabric implements Fabric {
    private static final String SOCKET = "shm.sock";
    private static final int OWNER_ONLY = 0600;
    private static final int BACKLOG = 64;
    private static final FabricCapabilities CAPABILITIES = new FabricCapabilities(Long.MAX_VALUE, true, true, false);
    private static final ShmEndpoint[] NONE = {};

    private final FabricConfig config;
    private final ShmOptions options;
    private final FabricHandler handler;
    private final Path address;
    private final Doorbell doorbell;
    /** Keeps the doorbell mapped for whoever rings it. */
    private final Gate doorbellGate = new Gate();

    private final PeerMemories peers = new PeerMemories();
    /** At most two for each connection, and one for each connect over the limit. */
    private final Queue<Event> events = new ConcurrentLinkedQueue<>();

    /** Guarded by {@link #events}: nothing is added any more. */
    private boolean eventsClosed;

    private volatile boolean closed;
    private volatile @Nullable Connections connections;
    private @Nullable Handshake handshake;

    /** Poll role: the connected endpoints; replaced, never changed, so that a handler may close what is being polled. */
    private ShmEndpoint[] active = NONE;

    /** Poll role: which of them is polled first, so that a busy one does not keep the others from their turn. */
    private int first;

    ShmFabric(FabricConfig config, ShmOptions options, FabricHandler handler) {
        this.config = config;
        this.options = options;
        this.handler = handler;
        address = config.runDirectory().toAbsolutePath().resolve(SOCKET);
        try {
            doorbell = Doorbell.create();
        } catch (OsException | UnsupportedOperationException e) {
            throw new FabricException("the shared-memory fabric cannot be opened: " + e.getMessage(), e);
        }
        boolean unused = doorbellGate.open();
    }

    @Override
    public String name() {
        return ShmFabricProvider.NAME;
    }

    @Override
    public String localAddress() {
        return address.toString();
    }

    @Override
    public FabricCapabilities capabilities() {
        return CAPABILITIES;
    }

    @Override
    public synchronized void register(FabricMemory memory) {
        if (connections != null || closed) {
            throw new IllegalStateException("memory is registered once, with an open fabric");
        }
        requireMapped(memory);
        UnixServerSocket server;
        try {
            peers.addOwn(
                    memory.descriptor(),
                    memory.segment().address(),
                    memory.segment().byteSize());
            server = UnixServerSocket.bind(address, OWNER_ONLY, BACKLOG);
        } catch (OsException | IllegalArgumentException | IOException | UncheckedIOException e) {
            throw new FabricException(
                    "node %s cannot listen for peers: %s".formatted(config.node(), e.getMessage()), e);
        }
        var offered = new Handshake(memory, config.hello(), doorbell, peers, options);
        handshake = offered;
        var started = new Connections(config.node(), options, offered, server, this::offer);
        connections = started;
        started.start();
    }

    private static void requireMapped(FabricMemory memory) {
        if (memory.descriptor() == FabricMemory.NO_DESCRIPTOR) {
            throw new FabricException(
                    "the shared-memory fabric needs memory that a file stands behind; this memory has no descriptor",
                    null);
        }
        long fileBytes;
        try {
            fileBytes = Files.size(Path.of("/proc/self/fd/" + memory.descriptor()));
        } catch (IOException e) {
            throw new FabricException("descriptor %d of the memory is not open".formatted(memory.descriptor()), e);
        }
        if (fileBytes < memory.segment().byteSize()) {
            throw new FabricException(
                    "the file behind the memory has %d bytes; the memory has %d"
                            .formatted(fileBytes, memory.segment().byteSize()),
                    null);
        }
    }

    @Override
    public FabricEndpoint connect(String peerAddress) {
        var current = connections;
        if (current == null || closed) {
            throw new IllegalStateException("to connect, the fabric must be open and have memory registered");
        }
        return current.connect(peerAddress);
    }

    @Override
    public int poll(int limit) {
        int handed = 0;
        while (handed < limit && !closed) {
            var event = events.poll();
            if (event == null) {
                break;
            }
            handed += handle(event);
        }
        // Not the field: a handler may change it.
        var endpoints = active;
        first = first + 1 < endpoints.length ? first + 1 : 0;
        for (int i = 0; i < endpoints.length && handed < limit; i++) {
            int turn = first + i;
            handed += poll(endpoints[turn < endpoints.length ? turn : turn - endpoints.length], limit - handed);
        }
        return handed;
    }

    private int handle(Event event) {
        var endpoint = event.endpoint();
        switch (event) {
            case Event.Connected connected -> {
                if (endpoint.isFinished()) {
                    // Closed here while the handshake was still under way.
                    connected.link().release();
                    return 0;
                }
                active = Arrays.copyOf(active, active.length + 1);
                active[active.length - 1] = endpoint;
                if (endpoint.connected(connected.link())) {
                    handler.connected(endpoint, endpoint.accepted());
                    return 1;
                }
                return 0;
            }
            case Event.Ended ended -> {
                endpoint.endedFor(ended.reason());
                return finishIfDrained(endpoint);
            }
        }
    }

    private int poll(ShmEndpoint endpoint, int limit) {
        int handed = 0;
        while (handed < limit && endpoint.hasImmediate()) {
            if (!endpoint.placeData()) {
                endpoint.cut("the peer sent data for a place outside of this node's memory");
                break;
            }
            handed++;
            handler.immediate(endpoint, endpoint.nextImmediate());
        }
        return handed < limit ? handed + finishIfDrained(endpoint) : handed;
    }

    private int finishIfDrained(ShmEndpoint endpoint) {
        var reason = endpoint.reasonToFinish();
        return reason == null ? 0 : finish(endpoint, reason);
    }

    private int finish(ShmEndpoint endpoint, String reason) {
        active = Arrays.stream(active).filter(other -> other != endpoint).toArray(ShmEndpoint[]::new);
        var current = connections;
        if (current != null) {
            current.remove(endpoint);
        }
        if (!endpoint.finish()) {
            return 0;
        }
        handler.disconnected(endpoint, reason);
        return 1;
    }

    @Override
    public void await(long timeoutNs) {
        if (timeoutNs < 0) {
            throw new IllegalArgumentException("a timeout is at least 0 ns, not " + timeoutNs);
        }
        if (closed) {
            return;
        }
        doorbell.announceSleep();
        try {
            // After the announcement: whoever came before it is found here, whoever comes after it rings.
            if (!hasWork()) {
                doorbell.sleep(timeoutNs);
            }
        } finally {
            doorbell.disarm();
        }
    }

    @Override
    public boolean arm() {
        if (closed) {
            return true;
        }
        doorbell.arm();
        return !hasWork();
    }

    @Override
    public void disarm() {
        if (!closed) {
            doorbell.disarm();
        }
    }

    @Override
    public void standBy(long timeoutNs) {
        if (timeoutNs < 0) {
            throw new IllegalArgumentException("a timeout is at least 0 ns, not " + timeoutNs);
        }
        long stamp = doorbellGate.enter();
        if (stamp != Gate.REFUSED) {
            try {
                // Set before close rings: who comes after that ring does not sleep.
                if (closed) {
                    return;
                }
                doorbell.standBy(timeoutNs);
            } finally {
                doorbellGate.exit(stamp);
            }
        }
    }

    private boolean hasWork() {
        if (!events.isEmpty()) {
            return true;
        }
        for (var endpoint : active) {
            if (endpoint.hasImmediate() || endpoint.reasonToFinish() != null) {
                return true;
            }
        }
        return false;
    }

    @Override
    public void wakeup() {
        ringBoth();
    }

    private void ringBoth() {
        long stamp = doorbellGate.enter();
        if (stamp != Gate.REFUSED) {
            try {
                doorbell.ringBoth();
            } finally {
                doorbellGate.exit(stamp);
            }
        }
    }

    private boolean offer(Event event) {
        synchronized (events) {
            if (eventsClosed) {
                return false;
            }
            events.add(event);
        }
        ringBoth(); // rare, and it also stands in for a peer that died before it rang
        return true;
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        synchronized (events) {
            eventsClosed = true;
        }
        var current = connections;
        if (current != null) {
            close(current);
        }
        if (handshake != null) {
            handshake.close();
        }
        peers.close();
        ringBoth(); // who stands by is inside the gate
        doorbellGate.close();
        doorbell.close();
    }

    private void close(Connections current) {
        var left = current.stop();
        left.forEach(ShmEndpoint::close);
        // What was queued is not announced any more, but its memory is released, and known reasons are kept.
        for (var event = events.poll(); event != null; event = events.poll()) {
            var endpoint = event.endpoint();
            switch (event) {
                case Event.Connected connected -> connected.link().release();
                case Event.Ended ended -> finish(endpoint, ended.reason());
            }
        }
        for (var endpoint : left) {
            finish(endpoint, endpoint.reasonOr("this node closed the fabric"));
        }
        current.close();
    }
}

package dev.lite.fabric.shm;

import dev.lite.fabric.AddressRange;
import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricCapabilities;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricException;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.driver.Connections;
import dev.lite.os.OsException;
import dev.lite.os.UnixServerSocket;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The shared-memory fabric of one node; see the package for how it works. */
final class ShmFabric implements Fabric, Connections.Driver<ShmEndpoint, ShmLink> {
    private static final String SOCKET = "shm.sock";
    private static final int OWNER_ONLY = 0600;
    private static final int BACKLOG = 64;
    private static final FabricCapabilities CAPABILITIES = new FabricCapabilities(Long.MAX_VALUE, true, true, false, 1);
    private static final ShmEndpoint[] NONE = {};

    private final FabricConfig config;
    private final ShmOptions options;
    private final FabricHandler handler;
    private final Path address;
    private final UnarmedBreaks breaks = new UnarmedBreaks();
    private final Doorbell doorbell;
    /** Keeps the doorbell mapped while a thread rings it. */
    private final Gate doorbellGate = new Gate();

    private final PeerMemories peers = new PeerMemories();
    private final Connections<ShmEndpoint, ShmLink> connections;
    private @Nullable ShmHandshake handshake;

    /** Poll role: the connected endpoints. Replaced, never changed, so that a handler may close an endpoint during a poll. */
    private ShmEndpoint[] active = NONE;

    /** Poll role: index of the endpoint to poll first. It rotates, so that a busy endpoint does not starve the others. */
    private int first;

    /** Poll role: whether this fabric was polled since the last break began. */
    private boolean polled;

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
        connections = new Connections<>(ShmFabricProvider.NAME, config.node(), options.limits(), handler, this);
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
        connections.requireNew();
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
        var offered = new ShmHandshake(memory, config.hello(), doorbell, peers, options.ringEntries());
        handshake = offered;
        connections.start(new ShmConnector(connections, offered, server));
    }

    private static void requireMapped(FabricMemory memory) {
        if (memory.descriptor() == FabricMemory.NO_DESCRIPTOR) {
            throw new FabricException(
                    "the shared-memory fabric needs file-backed memory; this memory has no descriptor", null);
        }
        long fileBytes;
        try {
            fileBytes = Files.size(Path.of("/proc/self/fd/" + memory.descriptor()));
        } catch (IOException e) {
            throw new FabricException("descriptor %d of the memory is not open".formatted(memory.descriptor()), e);
        }
        if (fileBytes < memory.segment().byteSize()) {
            throw new FabricException(
                    "the file of the memory has %d bytes; the memory has %d"
                            .formatted(fileBytes, memory.segment().byteSize()),
                    null);
        }
    }

    @Override
    public FabricEndpoint connect(String peerAddress) {
        return connections.connect(peerAddress);
    }

    @Override
    public int poll(int limit) {
        polled = true;
        int handed = connections.poll(limit);
        // Not the field: a handler may change it.
        var endpoints = active;
        first = first + 1 < endpoints.length ? first + 1 : 0;
        for (int i = 0; i < endpoints.length && handed < limit; i++) {
            int turn = first + i;
            handed += endpoints[turn < endpoints.length ? turn : turn - endpoints.length].deliver(
                    handler, limit - handed);
        }
        return handed;
    }

    @Override
    public void opened(ShmEndpoint endpoint, ShmLink link) {
        endpoint.openGate();
        active = Arrays.copyOf(active, active.length + 1);
        active[active.length - 1] = endpoint;
    }

    @Override
    public boolean ended(ShmEndpoint endpoint) {
        unpoll(endpoint);
        return true;
    }

    private void unpoll(ShmEndpoint endpoint) {
        active = Arrays.stream(active).filter(other -> other != endpoint).toArray(ShmEndpoint[]::new);
    }

    @Override
    public void finished(ShmEndpoint endpoint) {
        // Once more, since there may have been no memory for it: a poll must not read unmapped rings.
        unpoll(endpoint);
        var link = endpoint.link();
        if (link != null) {
            link.release();
        }
    }

    @Override
    public void discard(ShmLink link) {
        link.release();
    }

    @Override
    public void wake() {
        ringBoth(); // rare; also covers a peer that died before it could ring
    }

    @Override
    public void await(long timeoutNs) {
        if (timeoutNs < 0) {
            throw new IllegalArgumentException("a timeout must be at least 0 ns, not " + timeoutNs);
        }
        if (connections.isClosed()) {
            return;
        }
        doorbell.announceSleep();
        try {
            // Checked after the state was stored: work published earlier is found here; later senders ring.
            if (!hasWork()) {
                doorbell.sleep(timeoutNs);
            }
        } finally {
            doorbell.disarm();
        }
    }

    @Override
    public boolean arm() {
        if (connections.isClosed()) {
            return true;
        }
        doorbell.arm();
        return !hasWork();
    }

    @Override
    public boolean armBriefly() {
        if (breaks.begin() && !connections.isClosed()) {
            doorbell.beginBreak();
            if (breaks.mayStay()) {
                // What comes now is seen at the end of the break. But a thread may begin one break after the other
                // without a poll; then it looks here.
                boolean sawAll = polled;
                polled = false;
                return sawAll || !hasWork();
            }
        }
        return arm();
    }

    @Override
    public void disarm() {
        if (!connections.isClosed()) {
            doorbell.disarm();
        }
    }

    @Override
    public void awaitArmed(long timeoutNs) {
        if (timeoutNs < 0) {
            throw new IllegalArgumentException("a timeout must be at least 0 ns, not " + timeoutNs);
        }
        long stamp = doorbellGate.enter();
        if (stamp != Gate.REFUSED) {
            try {
                // Closed is set before close rings, so no thread sleeps after that ring.
                if (connections.isClosed()) {
                    return;
                }
                awaitStandbyBell(timeoutNs);
            } finally {
                doorbellGate.exit(stamp);
            }
        }
    }

    /** Waits until the bell rings, or until a break that is not armed was long. */
    private void awaitStandbyBell(long timeoutNs) {
        long endNs = System.nanoTime() + timeoutNs;
        long leftNs = timeoutNs;
        boolean done = false;
        while (!done) {
            boolean rung = doorbell.awaitStandbyBell(breaks.pauseNs(leftNs));
            long nowNs = System.nanoTime();
            boolean isLong = breaks.look(rung, nowNs) && doorbell.endBreak();
            if (isLong) {
                breaks.wasLong();
            }
            leftNs = endNs - nowNs;
            done = rung || isLong || leftNs <= 0;
        }
    }

    /** Whether breaks are not armed now, for tests. Any thread. */
    boolean areBreaksUnarmed() {
        return breaks.mayStay();
    }

    private boolean hasWork() {
        if (connections.hasWork()) {
            return true;
        }
        for (var endpoint : active) {
            if (endpoint.hasImmediate()) {
                return true;
            }
        }
        return false;
    }

    @Override
    public List<AddressRange> lostMemories() {
        return peers.lost();
    }

    @Override
    public void unmap(AddressRange lost) {
        peers.unmap(lost);
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

    @Override
    public synchronized void close() {
        if (connections.isClosed()) {
            return;
        }
        boolean unused = connections.close();
        active = NONE;
        if (handshake != null) {
            handshake.close();
        }
        peers.close();
        doorbell.leave(); // nothing of a peer is mapped any more, and the closed fabric maps nothing again
        ringBoth(); // the standby thread is inside the gate
        doorbellGate.close();
        doorbell.close();
    }
}

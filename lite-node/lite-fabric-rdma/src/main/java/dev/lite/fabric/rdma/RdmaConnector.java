package dev.lite.fabric.rdma;

import dev.lite.fabric.FabricError;
import dev.lite.fabric.driver.Connections;
import dev.lite.fabric.driver.LaneConnector;
import dev.lite.fabric.driver.LaneHandshake;
import dev.lite.fabric.driver.MessageChannel;
import dev.lite.fabric.rdma.verbs.Verbs;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/**
 * Makes lanes over the connection manager. The poll role passes the peer's messages to the thread of a handshake. Thread-safe.
 *
 * <p>A node sends its memory keys only after the peer has proved that it knows the secret. Until then, the peer's queue pair reaches only
 * the receives for the handshake's messages. An attacker who guesses keys has one attempt per connection, because a wrong key ends it.
 */
final class RdmaConnector extends LaneConnector<RdmaEndpoint, RdmaLink, RdmaLane> {
    /** Maximum number of accepted queue pairs whose peers are not authenticated yet; further ones are rejected. */
    static final int UNAUTHENTICATED_MAX = 16;

    private static final Duration DRAIN_TIMEOUT = Duration.ofMillis(100);
    private static final long DRAIN_POLL_NS = 100_000;
    private static final long NS_PER_MS = 1_000_000;

    private final Connections<RdmaEndpoint, RdmaLink> connections;
    private final RdmaOptions options;
    private final InetAddress source;
    private final Resources resources;
    private final ConnectionManager manager;
    private final Lanes lanes;
    private final Consumer<RdmaLane> discarded;

    /**
     * @param source the address of this node's device
     * @param discarded receives a destroyed lane that never belonged to an endpoint; called by the poll role
     */
    RdmaConnector(
            Connections<RdmaEndpoint, RdmaLink> connections,
            LaneHandshake handshake,
            RdmaOptions options,
            InetAddress source,
            Resources resources,
            Lanes lanes,
            Consumer<RdmaLane> discarded) {
        super(connections, handshake, options.lanes(), UNAUTHENTICATED_MAX);
        this.connections = connections;
        this.options = options;
        this.source = source;
        this.resources = resources;
        this.manager = resources.manager();
        this.lanes = lanes;
        this.discarded = discarded;
    }

    @Override
    public RdmaEndpoint create(boolean accepted) {
        return new RdmaEndpoint(accepted, resources::keepCompletions);
    }

    @Override
    public void start() {
        manager.start();
    }

    @Override
    protected Opener<RdmaLane> resolve(String address, Deadline deadline) {
        InetSocketAddress target = resolve(address, found -> found instanceof Inet4Address, "IPv4", deadline);
        return ofLane -> connect(target, ofLane);
    }

    private RdmaLane connect(InetSocketAddress target, Deadline deadline) {
        var verbs = resources.verbs();
        var id = manager.create();
        try {
            verbs.resolveAddress(id.handle(), source, target, leftMs(deadline));
            id.await(Verbs.ADDRESS_RESOLVED, deadline);
            verbs.resolveRoute(id.handle(), leftMs(deadline));
            id.await(Verbs.ROUTE_RESOLVED, deadline);
        } catch (RuntimeException | Error e) { // also without memory
            manager.destroy(id);
            throw e;
        }
        return establish(id, verbs::connect, deadline);
    }

    private static int leftMs(Deadline deadline) {
        return (int) Math.max(1, deadline.remainingNs() / NS_PER_MS);
    }

    /** Accepts a peer's connection request. Called on the manager's thread; does not block. */
    void requested(ConnectionManager.Id id) {
        accept(
                null, // the connection manager does not tell the address before the connection is made
                deadline -> establish(id, resources.verbs()::accept, deadline),
                () -> {}, // never called without an address
                () -> manager.destroy(id));
    }

    private RdmaLane establish(ConnectionManager.Id id, LongConsumer call, Deadline deadline) {
        RdmaLane lane;
        try {
            lane = lane(id);
        } catch (RuntimeException | Error e) {
            manager.destroy(id);
            throw e;
        }
        try {
            call.accept(id.handle());
            id.await(Verbs.ESTABLISHED, deadline);
            id.carry(lane);
            return lane;
        } catch (RuntimeException | Error e) {
            discard(lane);
            throw e;
        }
    }

    /** Makes a lane with its queue pair. If this fails, the caller still owns the id. */
    private RdmaLane lane(ConnectionManager.Id id) {
        int tag = lanes.take();
        LaneMemory memory = null;
        try {
            memory = new LaneMemory(resources.verbs(), resources.domain());
            var lane = new RdmaLane(
                    resources.verbs(), manager, id, memory, resources.announcements(), tag, options.queueDepth());
            lanes.put(lane); // first: there may be no memory for it
            lane.open(resources.domain(), resources.completionQueue());
            return lane;
        } catch (RuntimeException | Error e) { // also without memory
            try {
                if (memory != null) {
                    memory.release();
                }
            } finally {
                lanes.release(tag);
            }
            throw e;
        }
    }

    @Override
    protected MessageChannel channel(RdmaLane lane, Deadline deadline) {
        return new LaneMessages(lane);
    }

    @Override
    protected String name(RdmaLane lane) {
        return "(address unknown)";
    }

    @Override
    protected RdmaLink join(
            RdmaEndpoint endpoint,
            Peer peer,
            List<RdmaLane> made,
            MessageChannel first,
            boolean connecting,
            Deadline deadline) {
        // Open the mailbox before sending the keys: once the peer has the keys, it may send anything.
        Mailbox mailbox;
        PeerMemory remote;
        if (connecting) {
            mailbox = sendKeys(made.getFirst(), first, deadline);
            remote = PeerMemory.decode(first.receive(PeerMemory.ENCODED_BYTES, deadline), peer.bytes());
        } else {
            remote = PeerMemory.decode(first.receive(PeerMemory.ENCODED_BYTES, deadline), peer.bytes());
            mailbox = sendKeys(made.getFirst(), first, deadline);
        }
        for (var lane : made) {
            lane.own(endpoint);
        }
        return new RdmaLink(
                peer.hello(), resources.memory(), remote, made.toArray(RdmaLane[]::new), mailbox, peer.name());
    }

    private Mailbox sendKeys(RdmaLane lane, MessageChannel channel, Deadline deadline) {
        var mailbox = lane.openMailbox(resources.memory());
        channel.send(mailbox.describe().encode(), deadline);
        return mailbox;
    }

    @Override
    protected void whenBroken(RdmaLane lane, Runnable task) {
        lane.watch(task);
    }

    @Override
    protected void interrupt(RdmaLane lane) {
        lane.lost("this node closed the fabric", FabricError.FLUSHED);
    }

    /** Waits a bounded time until the last messages of the handshake have reached the peer, then destroys the lane. */
    @Override
    protected void discard(RdmaLane lane) {
        lane.refuse();
        try {
            boolean unused = Polling.until(
                    () -> {
                        resources.keepCompletions();
                        return lane.failure() != null || lane.isDrained();
                    },
                    Deadline.in(DRAIN_TIMEOUT),
                    DRAIN_POLL_NS);
        } finally {
            destroy(lane);
        }
    }

    private void destroy(RdmaLane lane) {
        try {
            lane.destroy();
        } finally { // also if the device does not release all of it
            // Refused once closed: nobody needs the tag then.
            boolean unused = connections.inPollRole(() -> discarded.accept(lane));
        }
    }

    @Override
    protected void stopAccepting() {
        manager.stop();
    }
}

package dev.lite.fabric.rdma;

import dev.lite.fabric.FabricError;
import dev.lite.fabric.driver.Connections;
import dev.lite.fabric.driver.LaneConnector;
import dev.lite.fabric.driver.LaneHandshake;
import dev.lite.fabric.driver.MessageChannel;
import dev.lite.fabric.rdma.verbs.Verbs;
import dev.lite.fabric.rdma.verbs.VerbsException;
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
 * <p>No key leaves before the peer proved to know the secret. Until then its queue pair reaches nothing but receives for the
 * handshake's messages: a stranger that guesses keys has one attempt for each connection, since the first wrong one ends it.
 */
final class RdmaConnector extends LaneConnector<RdmaEndpoint, RdmaLink, RdmaLane> {
    /** Accepted queue pairs whose peers have not proved yet who they are; further ones are rejected. */
    static final int STRANGERS_MAX = 16;

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
     * @param discarded takes a lane that is destroyed and was never an endpoint's; poll role
     */
    RdmaConnector(
            Connections<RdmaEndpoint, RdmaLink> connections,
            LaneHandshake handshake,
            RdmaOptions options,
            InetAddress source,
            Resources resources,
            Lanes lanes,
            Consumer<RdmaLane> discarded) {
        super(connections, handshake, options.lanes(), STRANGERS_MAX);
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
    protected Opener<RdmaLane> resolve(String address) {
        InetSocketAddress target = resolve(address, found -> found instanceof Inet4Address, "IPv4");
        return deadline -> connect(target, deadline);
    }

    private RdmaLane connect(InetSocketAddress target, Deadline deadline) {
        var verbs = resources.verbs();
        var id = manager.create();
        try {
            verbs.resolveAddress(id.handle(), source, target, leftMs(deadline));
            id.await(Verbs.ADDRESS_RESOLVED, deadline);
            verbs.resolveRoute(id.handle(), leftMs(deadline));
            id.await(Verbs.ROUTE_RESOLVED, deadline);
        } catch (RuntimeException e) {
            manager.destroy(id);
            throw e;
        }
        return establish(id, verbs::connect, deadline);
    }

    private static int leftMs(Deadline deadline) {
        return (int) Math.max(1, deadline.remainingNs() / NS_PER_MS);
    }

    /** A peer wants to connect. The manager's thread; does not block. */
    void requested(ConnectionManager.Id id) {
        accept(deadline -> establish(id, resources.verbs()::accept, deadline), () -> manager.destroy(id));
    }

    private RdmaLane establish(ConnectionManager.Id id, LongConsumer call, Deadline deadline) {
        RdmaLane lane;
        try {
            lane = lane(id);
        } catch (RuntimeException e) {
            manager.destroy(id);
            throw e;
        }
        try {
            call.accept(id.handle());
            id.await(Verbs.ESTABLISHED, deadline);
            id.carry(lane);
            return lane;
        } catch (RuntimeException e) {
            discard(lane);
            throw e;
        }
    }

    /** A lane with its queue pair; the id stays the caller's when this fails. */
    private RdmaLane lane(ConnectionManager.Id id) {
        int tag = lanes.take();
        LaneMemory memory = null;
        try {
            memory = new LaneMemory(resources.verbs(), resources.domain());
            var lane = new RdmaLane(
                    resources.verbs(), manager, id, memory, resources.announcements(), tag, options.queueDepth());
            lane.open(resources.domain(), resources.completionQueue());
            lanes.put(lane);
            return lane;
        } catch (VerbsException e) {
            if (memory != null) {
                memory.release();
            }
            lanes.release(tag);
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
        // Once the peer has the keys, it may send anything: so the mailbox is opened before they are sent.
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

    /** Waits, within bounds, until the last messages of the handshake have reached the peer, and destroys the lane. */
    @Override
    protected void discard(RdmaLane lane) {
        lane.refuse();
        boolean unused = Polling.until(
                () -> {
                    resources.keepCompletions();
                    return lane.failure() != null || lane.isDrained();
                },
                Deadline.in(DRAIN_TIMEOUT),
                DRAIN_POLL_NS);
        lane.destroy();
        unused = connections.inPollRole(() -> discarded.accept(lane)); // refused when closed: its place is not needed
    }

    @Override
    protected void stopAccepting() {
        manager.stop();
    }
}

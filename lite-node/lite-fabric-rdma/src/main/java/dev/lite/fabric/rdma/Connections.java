package dev.lite.fabric.rdma;

import dev.lite.fabric.FabricError;
import dev.lite.fabric.driver.HandshakeException;
import dev.lite.fabric.driver.LaneAssemblies;
import dev.lite.fabric.driver.LaneHandshake;
import dev.lite.fabric.rdma.verbs.Verbs;
import dev.lite.fabric.rdma.verbs.VerbsException;
import dev.lite.os.waiting.Deadline;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes connections, off the poll role: a daemon thread for each handshake under way, which hears from the poll role what the
 * peer says. They tell what happens by events. Thread-safe.
 *
 * <p>No key leaves before the peer proved to know the secret. Until then its queue pair reaches nothing but receives for the
 * handshake's messages: who guesses at keys has one try for a connection, since the first wrong one ends it.
 *
 * <p>Bounds: {@value #STRANGERS_MAX} accepted connections whose peers did not prove who they are yet, each for the time of a
 * handshake at most; then as many endpoints as the options allow, with a thread each until all their lanes are there.
 */
final class Connections {
    private static final Logger LOG = LoggerFactory.getLogger(Connections.class);

    /** Accepted connections that are still strangers'; further ones are rejected. */
    static final int STRANGERS_MAX = 16;

    private static final long CLOSE_TIMEOUT_NS = 5_000_000_000L;
    private static final long LAST_WORDS_NS = 100_000_000;
    private static final long LAST_WORDS_LOOK_NS = 100_000;
    private static final long NS_PER_MS = 1_000_000;

    private final String node;
    private final RdmaOptions options;
    private final InetAddress source;
    private final LaneHandshake handshake;
    private final Resources resources;
    private final ConnectionManager manager;
    private final Lanes lanes;
    /** Takes an event; false when the fabric is closed, and the event then stays the caller's. */
    private final Predicate<Event> events;

    private final Consumer<RdmaEndpoint> ended;
    private final LaneAssemblies<RdmaLane> assemblies = new LaneAssemblies<>();
    private final Semaphore strangers = new Semaphore(STRANGERS_MAX);

    // Guarded by this object, as what follows.
    private final Set<RdmaEndpoint> endpoints = new HashSet<>();
    private final Set<Thread> threads = new HashSet<>();
    private boolean closed;

    Connections(
            String node,
            RdmaOptions options,
            InetAddress source,
            LaneHandshake handshake,
            Resources resources,
            Lanes lanes,
            Predicate<Event> events,
            Consumer<RdmaEndpoint> ended) {
        this.node = node;
        this.options = options;
        this.source = source;
        this.handshake = handshake;
        this.resources = resources;
        this.manager = resources.manager();
        this.lanes = lanes;
        this.events = events;
        this.ended = ended;
    }

    /** Starts a connection; how it went comes as an event. */
    RdmaEndpoint connect(String address) {
        var endpoint = new RdmaEndpoint(false, ended, resources::keepCompletions);
        if (!add(endpoint)) {
            endpoint.lost(limitReached(), FabricError.FLUSHED);
            return endpoint;
        }
        run("connect", () -> connect(endpoint, address));
        return endpoint;
    }

    private void connect(RdmaEndpoint endpoint, String address) {
        var made = new ArrayList<RdmaLane>();
        boolean handed = false;
        try {
            var target = resolve(address);
            Deadline deadline = deadline();
            long high = handshake.randomNumber();
            long low = handshake.randomNumber();
            made.add(open(target, deadline));
            var first = new LaneMessages(made.getFirst());
            var verdict = handshake.connect(first, 0, options.lanes(), high, low, deadline);
            while (made.size() < verdict.lanes()) {
                requireWanted(endpoint);
                var lane = open(target, deadline);
                made.add(lane);
                var unused = handshake.connect(
                        new LaneMessages(lane), made.size() - 1, verdict.lanes(), high, low, deadline);
            }
            // Receives first: once the peer has the keys, it may say anything.
            var mailbox = made.getFirst().openMailbox(resources.memory());
            first.send(mailbox.describe().encode(), deadline);
            var remote = PeerMemory.decode(first.receive(PeerMemory.ENCODED_BYTES, deadline), verdict.bytes());
            handed = true;
            hand(endpoint, link(endpoint, verdict.hello(), remote, made, mailbox, address));
        } catch (RuntimeException e) {
            // Whatever it was, this endpoint has an end.
            endpoint.lost("cannot connect to %s: %s".formatted(address, e.getMessage()), FabricError.FLUSHED);
        } finally {
            if (!handed) {
                made.forEach(this::discard);
            }
        }
    }

    private static void requireWanted(RdmaEndpoint endpoint) {
        if (endpoint.end() != null) {
            throw new HandshakeException("closed by this node");
        }
    }

    private RdmaLane open(InetSocketAddress target, Deadline deadlineNs) {
        var verbs = resources.verbs();
        var id = manager.create();
        RdmaLane lane = null;
        try {
            verbs.resolveAddress(id.handle(), source, target, leftMs(deadlineNs));
            id.await(Verbs.ADDRESS_RESOLVED, deadlineNs);
            verbs.resolveRoute(id.handle(), leftMs(deadlineNs));
            id.await(Verbs.ROUTE_RESOLVED, deadlineNs);
            lane = make(id);
            verbs.connect(id.handle());
            id.await(Verbs.ESTABLISHED, deadlineNs);
            id.carry(lane);
            return lane;
        } catch (RuntimeException e) {
            if (lane == null) {
                manager.destroy(id);
            } else {
                discard(lane);
            }
            throw e;
        }
    }

    /** A lane with its queue pair; the id stays the caller's when this fails. */
    private RdmaLane make(ConnectionManager.Id id) {
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

    /** Gives a lane up that is no endpoint's, once its last words have reached the peer, within bounds. */
    private void discard(RdmaLane lane) {
        lane.refuse();
        long deadline = System.nanoTime() + LAST_WORDS_NS;
        while (lane.trouble() == null && !lane.isDrained() && System.nanoTime() - deadline < 0) {
            resources.keepCompletions();
            LockSupport.parkNanos(LAST_WORDS_LOOK_NS);
        }
        lane.destroy();
        boolean unused = events.test(new Event.Discarded(lane));
    }

    private static int leftMs(Deadline deadlineNs) {
        return (int) Math.max(1, deadlineNs.remainingNs() / NS_PER_MS);
    }

    private Deadline deadline() {
        return Deadline.in(java.time.Duration.ofMillis(options.handshakeTimeoutMs()));
    }

    private static InetSocketAddress resolve(String address) {
        int colon = address.lastIndexOf(':');
        String host = colon < 0 ? "" : address.substring(0, colon);
        if (host.isBlank() || host.contains(":")) {
            throw new IllegalArgumentException("an address is host:port, and the host has an IPv4 address");
        }
        try {
            int port = Integer.parseInt(address.substring(colon + 1));
            for (var candidate : InetAddress.getAllByName(host)) {
                if (candidate instanceof Inet4Address) {
                    return new InetSocketAddress(candidate, port);
                }
            }
            throw new HandshakeException("host '%s' has no IPv4 address".formatted(host));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("an address is host:port, and the host has an IPv4 address", e);
        } catch (UnknownHostException e) {
            throw new HandshakeException("there is no host '%s'".formatted(host), e);
        }
    }

    /** A peer wants to connect. The manager's thread. */
    void requested(ConnectionManager.Id id) {
        if (strangers.tryAcquire()) {
            if (run("accepted", () -> accepted(id))) {
                return;
            }
            strangers.release();
        } else {
            LOG.warn("{}: rejected a peer: {} connections wait for their peers' words", node, STRANGERS_MAX);
        }
        manager.destroy(id);
    }

    private void accepted(ConnectionManager.Id id) {
        RdmaLane lane = null;
        boolean handed = false;
        boolean stranger = true;
        try {
            Deadline deadline = deadline();
            lane = make(id);
            resources.verbs().accept(id.handle());
            id.await(Verbs.ESTABLISHED, deadline);
            id.carry(lane);
            var accepted = handshake.accept(new LaneMessages(lane), deadline);
            strangers.release();
            stranger = false;
            var claim = accepted.claim();
            handed = claim.lane() == 0
                    ? acceptFirst(lane, accepted, claim, deadline)
                    : assemblies.add(lane, accepted, deadline);
        } catch (RuntimeException e) {
            // The handler never hears of it.
            LOG.warn("{}: a peer could not be accepted: {}", node, e.getMessage());
        } finally {
            if (stranger) {
                strangers.release();
            }
            if (lane == null) {
                manager.destroy(id);
            } else if (!handed) {
                discard(lane);
            }
        }
    }

    private boolean acceptFirst(
            RdmaLane first, LaneHandshake.Accepted accepted, LaneHandshake.Claim claim, Deadline deadline) {
        var endpoint = new RdmaEndpoint(true, ended, resources::keepCompletions);
        if (!add(endpoint)) {
            accepted.refuse(limitReached(), deadline);
            throw new HandshakeException(limitReached());
        }
        int count = Math.min(claim.lanes(), options.lanes());
        LaneAssemblies<RdmaLane>.@Nullable Assembly assembly = null;
        boolean handed = false;
        try {
            assembly = assemblies.begin(claim, count, first);
            first.watch(assembly::giveUp);
            accepted.welcome(count, deadline);
            var made = assembly.awaitOthers(deadline);
            var trouble = first.trouble();
            if (made == null || trouble != null) {
                throw new HandshakeException(String.valueOf(trouble));
            }
            var messages = new LaneMessages(first);
            var remote = PeerMemory.decode(messages.receive(PeerMemory.ENCODED_BYTES, deadline), claim.bytes());
            var mailbox = first.openMailbox(resources.memory());
            messages.send(mailbox.describe().encode(), deadline);
            handed = true;
            hand(endpoint, link(endpoint, claim.hello(), remote, made, mailbox, "accepted"));
            return true;
        } finally {
            var others = assembly == null ? List.<RdmaLane>of() : assembly.end();
            if (!handed) {
                others.forEach(this::discard);
                remove(endpoint);
            }
        }
    }

    private RdmaLink link(
            RdmaEndpoint endpoint, byte[] hello, PeerMemory remote, List<RdmaLane> made, Mailbox mailbox, String peer) {
        for (var lane : made) {
            lane.own(endpoint);
        }
        return new RdmaLink(hello, resources.memory(), remote, made.toArray(RdmaLane[]::new), mailbox, peer);
    }

    private void hand(RdmaEndpoint endpoint, RdmaLink link) {
        if (!events.test(new Event.Connected(endpoint, link))) {
            for (var lane : link.lanes()) {
                lane.destroy();
            }
        }
    }

    private synchronized boolean add(RdmaEndpoint endpoint) {
        return !closed && endpoints.size() < options.connectionsMax() && endpoints.add(endpoint);
    }

    /** The endpoint has been finished, and counts no more. */
    synchronized void remove(RdmaEndpoint endpoint) {
        endpoints.remove(endpoint);
    }

    private String limitReached() {
        return "node %s has %d connections, the limit (%s)"
                .formatted(node, options.connectionsMax(), RdmaOptions.CONNECTIONS_MAX);
    }

    private synchronized boolean run(String role, Runnable task) {
        if (closed) {
            return false;
        }
        var thread = Thread.ofPlatform()
                .daemon()
                .name("lite-rdma-%s-%s".formatted(node, role))
                .unstarted(() -> {
                    try {
                        task.run();
                    } finally {
                        threadEnds();
                    }
                });
        threads.add(thread);
        thread.start();
        return true;
    }

    private synchronized void threadEnds() {
        threads.remove(Thread.currentThread());
    }

    /** Takes no more endpoints, and ends the handshakes under way; the endpoints there are, the caller's to finish. */
    List<RdmaEndpoint> stop() {
        List<RdmaEndpoint> left;
        synchronized (this) {
            closed = true;
            left = List.copyOf(endpoints);
        }
        manager.stop();
        for (var lane : lanes.all()) {
            if (lane.owner() == null) {
                lane.lost("this node closed the fabric", FabricError.FLUSHED);
            }
        }
        return left;
    }

    /** Waits, within bounds, for the threads to end; whether all have. */
    boolean awaitThreads() {
        List<Thread> left;
        synchronized (this) {
            left = List.copyOf(threads);
        }
        long deadline = System.nanoTime() + CLOSE_TIMEOUT_NS;
        try {
            for (var thread : left) {
                long restMs = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
                thread.join(Math.max(1, restMs));
                if (thread.isAlive()) {
                    LOG.warn("{}: thread {} does not end; what it uses of the device is left", node, thread.getName());
                    return false;
                }
            }
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}

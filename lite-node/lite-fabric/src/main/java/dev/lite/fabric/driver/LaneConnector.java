package dev.lite.fabric.driver;

import dev.lite.fabric.FabricKeys;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.RepeatedLines;
import dev.lite.os.waiting.Unrecoverable;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes connections of several lanes. Each lane starts with a {@link LaneHandshake}. The driver opens lanes and makes a link of them.
 * Thread-safe.
 *
 * <p><b>Bounds.</b> {@link Strangers} limits the accepted lanes whose peers have not proved yet that they know the secret. Each lasts at
 * most half as long as a handshake may take. After that proof, as many lanes may be in their handshakes as all
 * connections have together.
 *
 * @param <E> the driver's endpoints
 * @param <L> what its connections consist of
 * @param <K> a lane while it is being made
 */
public abstract class LaneConnector<E extends DriverEndpoint<L>, L extends DriverLink, K> implements Connector<E> {
    private static final Logger LOG = LoggerFactory.getLogger(LaneConnector.class);

    private static final int LINES_MAX = 20;
    private static final Duration LINES_PERIOD = Duration.ofSeconds(10);

    /** Opens a lane. On failure it leaves nothing behind. */
    @FunctionalInterface
    public interface Opener<K> {
        /**
         * Blocks at most until the deadline. What {@link #interrupt} must end belongs into {@link #channel}, which
         * makes the lane ready to carry messages.
         */
        K open(Deadline deadline);
    }

    /**
     * The other side of a connection, as its handshake describes it.
     *
     * @param name its address, for messages; the one to which this node connected, if it did
     * @param hello its hello
     * @param bytes the size of its memory
     * @param number {@link LaneHandshake.Claim#low} of the connection: both sides know it
     */
    public record Peer(String name, byte[] hello, long bytes, long number) {}

    private final Connections<E, L> connections;
    private final LaneHandshake handshake;
    private final int lanesMax;
    private final Strangers strangers;
    /** For the accepted lanes whose peers have proved that they know the secret: each has a thread. */
    private final Semaphore proved;

    private final int provedMax;
    private final RepeatedLines lines = new RepeatedLines(LINES_MAX, LINES_PERIOD);
    private final LaneAssemblies<K> assemblies = new LaneAssemblies<>();
    private final HostLookups lookups;

    // Guarded by this object.
    private final Set<K> handshaking = new HashSet<>();
    private boolean stopped;

    /**
     * @param lanesMax how many lanes this node wants for a connection
     * @param unauthenticatedMax maximum number of accepted lanes whose peers have not proved yet that they know the secret; as many
     *     again from addresses from which a peer has proved it before
     */
    protected LaneConnector(
            Connections<E, L> connections, LaneHandshake handshake, int lanesMax, int unauthenticatedMax) {
        this(connections, handshake, lanesMax, unauthenticatedMax, new HostLookups(InetAddress::getAllByName));
    }

    /** For tests: names of hosts may be hard to look up. */
    LaneConnector(
            Connections<E, L> connections,
            LaneHandshake handshake,
            int lanesMax,
            int unauthenticatedMax,
            HostLookups lookups) {
        this.connections = connections;
        this.handshake = handshake;
        this.lanesMax = lanesMax;
        this.strangers = new Strangers(unauthenticatedMax);
        this.lookups = lookups;
        provedMax = connections.connectionsMax() * lanesMax;
        proved = new Semaphore(provedMax);
    }

    /**
     * Resolves an address once, for all lanes. May block until the deadline.
     *
     * @throws RuntimeException if the address is invalid
     */
    protected abstract Opener<K> resolve(String address, Deadline deadline);

    /**
     * Makes a lane ready to carry messages, and returns the channel for its handshake. Called once for each; may block
     * until the deadline.
     */
    protected abstract MessageChannel channel(K lane, Deadline deadline);

    /** The peer's address, for messages. */
    protected abstract String name(K lane);

    /**
     * Makes the link once all lanes are open. Completes the handshake with the peer over the channel of the first lane.
     *
     * @param first the channel of the first lane's handshake
     * @param connecting whether this node made the connection
     */
    protected abstract L join(
            E endpoint, Peer peer, List<K> lanes, MessageChannel first, boolean connecting, Deadline deadline);

    /** Runs the task if a lane breaks while it waits for the others. Does nothing in drivers that cannot notice this. */
    protected void whenBroken(K lane, Runnable task) {}

    /**
     * The handshake of a lane is over. The driver uses these keys from {@link #join} on. Does nothing in drivers that ask for none.
     *
     * @param keys null if neither node asked for them
     */
    protected void agreed(K lane, @Nullable FabricKeys keys) {}

    /**
     * A member of the cluster opens a stream, and its identity was checked.
     *
     * @return takes the lane once its handshake is over, and then owns it, unless it throws; null if this node has no connection that the
     *     peer made and for which that stream is, or the driver opens no streams
     * @throws HandshakeException with another reason to refuse it, which the peer gets
     */
    protected @Nullable Consumer<K> streamTaker(LaneHandshake.Claim claim) {
        return null;
    }

    private Consumer<@Nullable FabricKeys> agreeing(K lane) {
        return keys -> agreed(lane, keys);
    }

    /** Ends the handshake on a lane with an error, because the fabric closes. Does not block. */
    protected abstract void interrupt(K lane);

    /** Closes a lane that belongs to no endpoint. */
    protected abstract void discard(K lane);

    /** Stops the transport from bringing new lanes. */
    protected abstract void stopAccepting();

    @Override
    public final void connect(E endpoint, String address, Deadline deadline) {
        List<K> lanes = new ArrayList<>(lanesMax);
        boolean taken = false;
        try {
            Opener<K> target = resolve(address, deadline);
            long high = handshake.randomNumber();
            long low = handshake.randomNumber();
            MessageChannel first = open(target, lanes, deadline);
            var verdict = handshake.connect(first, address, 0, lanesMax, high, low, deadline);
            agreed(lanes.getFirst(), verdict.keys());
            while (lanes.size() < verdict.lanes()) {
                if (endpoint.end() != null) {
                    throw new HandshakeException("closed by this node");
                }
                MessageChannel next = open(target, lanes, deadline);
                var other = handshake.connect(next, address, lanes.size() - 1, verdict.lanes(), high, low, deadline);
                if (!Arrays.equals(other.hello(), verdict.hello())) {
                    throw new HandshakeException("another node answered at its lane %d".formatted(lanes.size() - 1));
                }
                agreed(lanes.getLast(), other.keys());
            }
            Peer peer = new Peer(address, verdict.hello(), verdict.bytes(), low);
            L link = join(endpoint, peer, lanes, first, true, deadline);
            taken = true;
            ready(endpoint, link);
        } finally {
            settle(lanes, 0, taken);
        }
    }

    /** The lanes are the link's from now on, also after an error: then the endpoint ends. */
    private void ready(E endpoint, L link) {
        try {
            boolean unused = connections.ready(endpoint, link);
        } catch (RuntimeException | Error e) { // such as: no memory
            Unrecoverable.report(e);
            endpoint.lost("the connection cannot be used", e);
        }
    }

    private MessageChannel open(Opener<K> target, List<K> lanes, Deadline deadline) {
        K lane = open(target, deadline);
        lanes.add(lane);
        return channel(lane, deadline);
    }

    /** Every lane in a handshake passes here, and through {@link #settle} at its end. */
    private K open(Opener<K> opener, Deadline deadline) {
        K lane = opener.open(deadline);
        boolean noted = false;
        try {
            noted = note(lane);
        } finally {
            if (!noted) { // also without memory for it
                discard(lane);
            }
        }
        if (!noted) {
            throw new HandshakeException("this node closed the fabric");
        }
        return lane;
    }

    private synchronized boolean note(K lane) {
        return !stopped && handshaking.add(lane);
    }

    /** Settles the lanes from {@code from} on: an error at one keeps no other. */
    private void settle(List<K> lanes, int from, boolean taken) {
        if (from < lanes.size()) {
            try {
                settle(lanes.get(from), taken);
            } finally {
                settle(lanes, from + 1, taken);
            }
        }
    }

    private void settle(K lane, boolean taken) {
        synchronized (this) {
            handshaking.remove(lane);
        }
        if (!taken) {
            discard(lane);
        }
    }

    /**
     * A peer wants to open a lane. Any thread; does not block.
     *
     * @param from the peer's address, or null if it is not known
     * @param interrupt ends the lane's handshake with an error while {@code opener} or the handshake blocks; does not block
     * @param refuse closes the transport connection instead of {@code opener}, if there are too many or the fabric is closed
     */
    protected final void accept(@Nullable InetAddress from, Opener<K> opener, Runnable interrupt, Runnable refuse) {
        boolean runs = false;
        try {
            Strangers.Entered entered = strangers.enter(from, interrupt);
            if (entered == null) {
                log("too-many", "refused a peer: too many handshakes are under way");
            } else {
                runs = accept(from, opener, entered);
            }
        } finally {
            if (!runs) { // also without memory for it
                refuse.run();
            }
        }
    }

    /** Returns whether a thread accepts the lane. */
    private boolean accept(@Nullable InetAddress from, Opener<K> opener, Strangers.Entered entered) {
        boolean runs = false;
        try {
            Runnable other = entered.interruptOther();
            if (other != null) {
                log("too-many", "too many handshakes are under way; ended the oldest one of %s".formatted(from));
                other.run();
            }
            runs = connections.run("accepted", () -> accepted(opener, entered.place()));
            return runs;
        } finally {
            if (!runs) { // also without a thread for it
                entered.place().leave();
            }
        }
    }

    private void accepted(Opener<K> opener, Strangers.Place place) {
        Deadline deadline = connections.handshakeDeadline();
        Deadline ofProof = connections.proofDeadline();
        K lane = null;
        boolean taken = false;
        String name = "unknown";
        try {
            lane = open(opener, ofProof);
            name = name(lane);
            MessageChannel channel = channel(lane, ofProof);
            var accepted = handshake.accept(channel, ofProof);
            place.proved();
            taken = acceptProved(lane, name, channel, accepted, deadline);
        } catch (RuntimeException e) {
            // The handler does not know the endpoint yet.
            log("refused", "cannot accept peer %s: %s".formatted(name, e.getMessage()));
        } finally {
            try {
                if (lane != null) {
                    settle(lane, taken);
                }
            } finally { // last: a lane that is being discarded still needs it
                place.leave();
            }
        }
    }

    private boolean acceptProved(
            K lane, String name, MessageChannel channel, LaneHandshake.Accepted accepted, Deadline deadline) {
        if (!proved.tryAcquire()) {
            String reason = "%d handshakes are under way, the limit".formatted(provedMax);
            accepted.refuse(reason, deadline);
            throw new HandshakeException(reason);
        }
        try {
            accepted.requireIdentity(deadline);
            return accept(lane, name, channel, accepted, deadline);
        } finally {
            proved.release();
        }
    }

    private boolean accept(
            K lane, String name, MessageChannel channel, LaneHandshake.Accepted accepted, Deadline deadline) {
        var claim = accepted.claim();
        if (claim.isStream()) {
            acceptStream(lane, accepted, deadline);
            return true;
        }
        return claim.lane() == 0
                ? acceptFirst(lane, name, channel, accepted, deadline)
                : assemblies.add(lane, accepted, agreeing(lane), deadline);
    }

    private void acceptStream(K lane, LaneHandshake.Accepted accepted, Deadline deadline) {
        Consumer<K> taker;
        try {
            taker = streamTaker(accepted.claim());
            if (taker == null) {
                throw new HandshakeException("it has no connection for this stream");
            }
        } catch (HandshakeException e) {
            accepted.refuse(String.valueOf(e.getMessage()), deadline);
            throw e;
        }
        accepted.welcomeStream(deadline);
        agreed(lane, accepted.keys());
        taker.accept(lane);
    }

    /**
     * Makes the connecting side of a stream. Blocks; {@link #stop} ends it with an error.
     *
     * @param peer of the connection, which this node made
     * @param tag of the stream
     * @return a lane whose handshake is over, and on which nothing more was received; the caller owns it
     * @throws RuntimeException if there is no stream
     */
    protected final K connectStream(Peer peer, long tag, Deadline deadline) {
        K lane = open(resolve(peer.name(), deadline), deadline);
        boolean made = false;
        try {
            var channel = channel(lane, deadline);
            var verdict = handshake.connectStream(channel, peer.name(), tag, peer.number(), deadline);
            if (!Arrays.equals(verdict.hello(), peer.hello())) {
                throw new HandshakeException("another node has its address now");
            }
            agreed(lane, verdict.keys());
            made = true;
            return lane;
        } finally {
            settle(lane, made);
        }
    }

    /** Warns. Everybody who reaches the listening socket can cause such lines, so only some of each kind are written. */
    protected final void log(String kind, String line) {
        String suffix = lines.suffix(kind);
        if (suffix != null) {
            LOG.warn("{}: {}{}", connections.node(), line, suffix);
        }
    }

    private boolean acceptFirst(
            K first, String name, MessageChannel channel, LaneHandshake.Accepted accepted, Deadline deadline) {
        E endpoint;
        try {
            endpoint = connections.accept();
        } catch (HandshakeException e) {
            accepted.refuse(String.valueOf(e.getMessage()), deadline);
            throw e;
        }
        var claim = accepted.claim();
        LaneAssemblies<K>.@Nullable Assembly assembly = null;
        boolean taken = false;
        try {
            int count = Math.min(claim.lanes(), lanesMax);
            assembly = assemblies.begin(claim, count, first);
            whenBroken(first, assembly::giveUp);
            accepted.welcome(count, deadline);
            agreed(first, accepted.keys());
            List<K> lanes = assembly.awaitOthers(deadline);
            if (lanes == null) {
                throw new HandshakeException("its first lane broke, or this node closed the fabric");
            }
            L link = join(
                    endpoint,
                    new Peer(name, claim.hello(), claim.bytes(), claim.low()),
                    lanes,
                    channel,
                    false,
                    deadline);
            taken = true;
            ready(endpoint, link);
            return true;
        } finally {
            try {
                settle(assembly == null ? List.of() : assembly.end(), 0, taken);
            } finally {
                if (!taken) {
                    connections.forget(endpoint);
                }
            }
        }
    }

    @Override
    public final void stop() {
        List<K> left;
        synchronized (this) {
            stopped = true;
            left = List.copyOf(handshaking);
        }
        stopAccepting();
        lookups.stop();
        left.forEach(this::interrupt);
        assemblies.giveUpAll();
    }

    /**
     * Resolves {@code host:port}, or {@code [host]:port} for an IPv6 literal. For a name, it blocks until the deadline
     * or {@link #stop}.
     *
     * @param usable selects the usable addresses of a host
     * @param kind the name of that kind of address, for messages
     * @throws IllegalArgumentException if the address has another form
     * @throws HandshakeException if no such address of the host is found by the deadline
     */
    protected final InetSocketAddress resolve(
            String address, Predicate<InetAddress> usable, String kind, Deadline deadline) {
        int colon = address.lastIndexOf(':');
        String host = colon < 0 ? "" : address.substring(0, colon);
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        } else if (host.contains(":")) {
            host = "";
        }
        if (host.isBlank()) {
            throw new IllegalArgumentException("an address is host:port, or [host]:port for IPv6");
        }
        try {
            int port = Integer.parseInt(address.substring(colon + 1));
            InetAddress found = Stream.of(lookups.find(host, deadline))
                    .filter(usable)
                    .findFirst()
                    .orElse(null);
            if (found == null) {
                throw new HandshakeException("host '%s' has no %s address".formatted(host, kind));
            }
            return new InetSocketAddress(found, port);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("an address is host:port, or [host]:port for IPv6", e);
        }
    }
}

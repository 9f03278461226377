package dev.lite.tier.channel;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.fabric.FabricStream;
import dev.lite.os.OsException;
import dev.lite.os.waiting.Deadline;
import dev.lite.session.channel.ChannelArea;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.control.ControlKind;
import dev.lite.tier.control.ControlMessage;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.peer.PeerListener;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The channels of a node's applications; see the package. Any thread. The callbacks of {@link PeerListener} run on the polling thread and
 * do not block: virtual threads tell applications and other nodes of an end.
 */
public final class NodeChannels implements PeerListener, AutoCloseable {
    /** The largest limit of a node's channels. */
    public static final int CHANNELS_MAX = 4096;

    /** The default limit of a node's channels. */
    public static final int CHANNELS_DEFAULT = 256;

    /** The longest request and the longest reply of a channel in bytes. */
    public static final int WINDOW_BYTES = LtRpc.MESSAGE_BYTES_MAX;

    /** Every channel's memory: for 32 calls at a time. */
    static final ChannelArea AREA = new ChannelArea(32, WINDOW_BYTES);

    static final String CALLER_GONE = "the calling application does not wait for the channel any more";

    /** How long the serving application may take to answer an offer, unless a test sets it. */
    static final Duration ANSWER_MAX = Duration.ofSeconds(2);

    // What END_CHANNEL asks for.
    private static final int END_OF_SERVER = 0;
    private static final int END_OF_CALLER = 1;
    private static final int RETIRE = 2;

    private static final Logger log = LoggerFactory.getLogger(NodeChannels.class);
    private static final Duration TELL_MAX = Duration.ofSeconds(5);
    private static final int TELL_TRIES = 6;

    private final int self;
    private final String selfName;
    private final int channelsMax;
    private final PeerLinks links;
    private final ControlChannel control;
    private final ToIntFunction<String> nodeIds;
    private final Function<String, ChannelHost> hosts;
    private final Executor executor;
    /** Random at first, so that a restarted node does not repeat the tags of its former process. */
    private final AtomicLong lastTag = new AtomicLong(new SecureRandom().nextLong());

    private final ChannelTable ends;

    private volatile Duration answerMax = ANSWER_MAX;

    /** How long calls under way may last when their channel must end, because calls pass the nodes from then on. */
    private volatile Duration retirement = Duration.ofSeconds(5);

    /** Whose calls must pass the nodes. */
    private volatile BiPredicate<String, Boolean> passNodes = (principal, betweenHosts) -> false;

    /**
     * @param channelsMax the limit of ends at this node; 0: no channels
     * @param nodeIds maps a node's name to its id; throws {@link NodeUnreachableException} if there is no such node
     * @param hosts finds the one application that serves a function here; throws {@link RpcFailedException} if there is not exactly one
     * @param executor runs tasks on virtual threads
     */
    public NodeChannels(
            int self,
            String selfName,
            int channelsMax,
            PeerLinks links,
            ControlChannel control,
            ToIntFunction<String> nodeIds,
            Function<String, ChannelHost> hosts,
            Executor executor) {
        this.self = self;
        this.selfName = selfName;
        this.channelsMax = channelsMax;
        this.links = links;
        this.control = control;
        this.nodeIds = nodeIds;
        this.hosts = hosts;
        this.executor = executor;
        this.ends = new ChannelTable(selfName, channelsMax);
        links.addListener(this);
        control.serve(ControlKind.OPEN_CHANNEL, (node, request, reply) -> {
            long tag = request.getLong();
            String function = request.getName("the function");
            openAsked(connected(node), tag, function, request.getName("the principal"));
        });
        control.serve(ControlKind.CHANNEL_TAKEN, (node, request, reply) -> {
            ChannelEnd end = ends.find(new ChannelTable.Key(connected(node), request.getLong(), true));
            if (end == null || !end.taken.complete(null)) {
                throw new RpcFailedException(
                        RpcStatus.REFUSED, "node %s does not wait for this channel any more".formatted(selfName));
            }
        });
        control.serve(ControlKind.END_CHANNEL, (node, request, reply) -> {
            Peer peer = connected(node);
            long tag = request.getLong();
            int what = request.getByte();
            ChannelTable.Key key = new ChannelTable.Key(peer, tag, what != END_OF_SERVER);
            if (what == RETIRE) {
                retireHere(key, request.getReason());
            } else {
                endAsked(key, request.getReason());
            }
        });
    }

    /** The channels of a new session. */
    public SessionChannels session(String principal, ChannelApplication application) {
        return new SessionChannels(this, principal, application);
    }

    // The caller's node.

    OpenedChannel open(SessionChannels session, String node, String function, Deadline deadline) {
        String what = "opening a channel to the function \"%s\" at node %s".formatted(function, node);
        if (deadline.passed()) { // before another node or application is asked
            throw new LiteTimeoutException(deadline.expired(what));
        }
        requireOwnWay(session.principal, false);
        Peer peer = peerFor(node);
        Peer linked = peer != null && isBetweenHosts(peer) ? peer : null;
        if (linked != null) {
            requireLinks(session, "the calling application");
        }
        ChannelEnd end = add(session, ChannelEnd.CALLER, peer, lastTag.incrementAndGet());
        boolean opened = false;
        try {
            // Again: passNodes retires the channels that it finds. So either it has found this one, or this finds its
            // outcome.
            requireOwnWay(session.principal, linked != null);
            ChannelDescriptor descriptor =
                    linked != null ? connect(linked, end, function, deadline) : ChannelDescriptor.of(create());
            try {
                if (peer == null) {
                    openHere(end, function, descriptor, deadline);
                } else if (linked == null) {
                    openAt(peer, end, function, descriptor.number(), deadline);
                }
                await(end, deadline, what);
                opened = true;
            } finally {
                if (!opened) {
                    descriptor.close();
                }
            }
            return new OpenedChannel(this, end, descriptor);
        } finally {
            if (!opened) {
                end(end, CALLER_GONE, false, true);
                if (linked != null) {
                    linked.endpoint().dropStream(end.tag); // the other node may have begun to make it
                }
            }
        }
    }

    private int create() {
        try {
            return AREA.createDescriptor();
        } catch (OsException e) {
            throw new RpcFailedException(
                    RpcStatus.REFUSED, 0, "node %s cannot create a channel: %s".formatted(selfName, e.getMessage()), e);
        }
    }

    /** The connection to the server's node; null if that is this node. */
    private @Nullable Peer peerFor(String node) {
        requireOn();
        int id = node.equals(selfName) ? self : nodeIds.applyAsInt(node);
        if (id == self) {
            return null;
        }
        Peer peer = links.peer(id);
        if (peer == null) {
            throw new NodeUnreachableException(
                    "node %s is not connected to node %s: %s".formatted(selfName, node, links.trouble(id)));
        }
        if (!peer.endpoint().passesDescriptors()) {
            requireStreams(peer);
        }
        return peer;
    }

    private void requireStreams(Peer peer) {
        if (!peer.endpoint().opensStreams()) {
            throw new RpcFailedException(
                    RpcStatus.REFUSED,
                    "the fabric %s of node %s makes no channels to node %s"
                            .formatted(peer.fabric(), selfName, peer.hello().node()));
        }
    }

    private static void requireLinks(SessionChannels session, String what) {
        if (!session.application.takesLinks()) {
            throw new RpcFailedException(
                    RpcStatus.REFUSED, what + " is of an older version, which has no channels between hosts");
        }
    }

    private void openHere(ChannelEnd end, String function, ChannelDescriptor descriptor, Deadline deadline) {
        ChannelEnd offered = offered(null, end.tag, function);
        offer(offered, descriptor, selfName, end.session.principal, deadline.atMost(answerMax));
        if (!end.taken.complete(null)) {
            end(offered, CALLER_GONE, true, false);
        }
    }

    /** The connection of a channel to another host. */
    private ChannelDescriptor connect(Peer peer, ChannelEnd end, String function, Deadline deadline) {
        ask(peer, end, function, deadline);
        FabricStream stream = stream(peer, end, deadline.atMost(ANSWER_MAX).remainingNs());
        if (stream == null) {
            String reason = end.reason();
            throw new RpcFailedException(
                    RpcStatus.REFUSED,
                    "the connection of a channel to node %s could not be made%s"
                            .formatted(peer.hello().node(), reason == null ? "" : ": " + reason));
        }
        return ChannelDescriptor.of(stream);
    }

    /** The connection of a channel; null if there is none in time, or the channel ends before. */
    private static @Nullable FabricStream stream(Peer peer, ChannelEnd end, long timeoutNs) {
        end.connecting = true; // before the check: a thread that ends the channel later drops the connection
        FabricStream stream = end.isEnded() ? null : peer.endpoint().openStream(end.tag, timeoutNs);
        end.connecting = false;
        if (stream == null) {
            peer.endpoint().dropStream(end.tag); // it may still come
        }
        return stream;
    }

    private void ask(Peer peer, ChannelEnd end, String function, Deadline deadline) {
        ControlMessage request = new ControlMessage()
                .putLong(end.tag)
                .putName("the function", function)
                .putName("the principal", end.session.principal);
        ControlMessage unused = control.call(peer.id(), ControlKind.OPEN_CHANNEL, request, deadline);
    }

    /** Asks first: a node that knows no channels would close the connection at an unexpected descriptor. */
    private void openAt(Peer peer, ChannelEnd end, String function, int descriptor, Deadline deadline) {
        ask(peer, end, function, deadline);
        if (!peer.endpoint().passDescriptor(end.tag, descriptor)) {
            throw new RpcFailedException(
                    RpcStatus.REFUSED,
                    "the memory of a channel could not be passed to node %s"
                            .formatted(peer.hello().node()));
        }
    }

    /** Waits until the serving application has taken the channel. */
    private static void await(ChannelEnd end, Deadline deadline, String what) {
        try {
            Void unused = end.taken.get(deadline.remainingNs(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new LiteTimeoutException(deadline.expired(what));
        } catch (ExecutionException e) {
            throw new RpcFailedException(RpcStatus.REFUSED, 0, "%s: %s".formatted(what, end.reason()), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RpcFailedException(RpcStatus.REFUSED, 0, "%s: interrupted".formatted(what), e);
        }
    }

    // The server's node.

    /** Answers at once; the application is asked by another thread. */
    private void openAsked(Peer peer, long tag, String function, String principal) {
        requireOn();
        ChannelEnd end = offered(peer, tag, function);
        if (!execute(() -> offerTo(peer, end, principal))) {
            end(end, "node %s is stopping".formatted(selfName), false, false);
        }
    }

    /** A new end at the application that serves a function. */
    private ChannelEnd offered(@Nullable Peer peer, long tag, String function) {
        ChannelHost host = hosts.apply(function);
        if (peer != null && !peer.endpoint().passesDescriptors()) {
            requireStreams(peer);
            requireLinks(host.session(), "the application that serves the function");
        }
        ChannelEnd end = add(host.session(), host.server(), peer, tag);
        boolean kept = false;
        try {
            // A second server ends the channels that it finds. So either it has found this one, or this finds that
            // server.
            kept = hosts.apply(function).equals(host);
        } finally {
            if (!kept) {
                end(end, "another server of the function was opened or closed", false, false);
            }
        }
        if (!kept) {
            throw new RpcFailedException(
                    RpcStatus.REFUSED,
                    "the server of the function \"%s\" at node %s changed".formatted(function, selfName));
        }
        return end;
    }

    private void offerTo(Peer peer, ChannelEnd end, String principal) {
        ChannelDescriptor descriptor = taken(peer, end);
        if (descriptor == null) {
            end(end, "the channel's descriptor did not reach node %s".formatted(selfName), false, true);
            return;
        }
        try {
            offer(end, descriptor, peer.hello().node(), principal, Deadline.in(answerMax));
            ControlMessage request = new ControlMessage().putLong(end.tag);
            ControlMessage unused = control.call(peer.id(), ControlKind.CHANNEL_TAKEN, request, Deadline.in(TELL_MAX));
        } catch (LiteException e) {
            end(end, String.valueOf(e.getMessage()), true, true);
        } finally {
            descriptor.close();
        }
    }

    /** The memory that the peer passes, or the connection to it; null if there is none in time. */
    private static @Nullable ChannelDescriptor taken(Peer peer, ChannelEnd end) {
        if (peer.endpoint().passesDescriptors()) {
            int memory = peer.endpoint().takeDescriptor(end.tag, ANSWER_MAX.toNanos());
            return memory < 0 ? null : ChannelDescriptor.of(memory);
        }
        FabricStream stream = stream(peer, end, ANSWER_MAX.toNanos());
        return stream == null ? null : ChannelDescriptor.of(stream);
    }

    /** Offers a channel and waits until it is taken; ends it otherwise. */
    private void offer(
            ChannelEnd end, ChannelDescriptor descriptor, String callerNode, String principal, Deadline deadline) {
        ChannelApplication application = end.session.application;
        if (!application.offer(
                end.number, end.server, AREA, callerNode, principal, descriptor.number(), descriptor.keys())) {
            String reason = "the serving application does not read its control channel";
            end(end, reason, false, true);
            throw new RpcFailedException(RpcStatus.REFUSED, reason);
        }
        announced(end);
        try {
            await(end, deadline, "offering the channel to the application that serves the function");
        } catch (LiteException e) {
            end(end, String.valueOf(e.getMessage()), true, true);
            throw e;
        }
    }

    // Both.

    private Peer connected(int node) {
        Peer peer = links.peer(node);
        if (peer == null) {
            throw new NodeUnreachableException(
                    "node %s is not connected to node %s".formatted(selfName, links.nameOf(node)));
        }
        return peer;
    }

    /**
     * Refuses the channels that the predicate names, and retires those that there are: new calls pass the nodes, which limit and order
     * them, and calls under way continue. After {@link #retirement} it ends them. Call it again when the outcome may have changed. Never
     * blocks.
     *
     * @param which takes the caller's principal, and whether the channel is one between hosts
     */
    public void passNodes(BiPredicate<String, Boolean> which) {
        passNodes = which;
        for (ChannelEnd end : ends.all()) {
            boolean betweenHosts = end.peer != null && isBetweenHosts(end.peer);
            if (end.isCaller() && which.test(end.session.principal, betweenHosts)) {
                retireThenEnd(end, passesNodes(end.session.principal));
            }
        }
    }

    /** Sets how long a serving application may take to answer an offer, for tests. */
    void setAnswerMax(Duration longest) {
        answerMax = longest;
    }

    /** Sets how long calls under way may last when calls pass the nodes from then on, for tests. */
    void setRetirement(Duration longest) {
        retirement = longest;
    }

    /** An application need not obey: after a while, the channel ends. */
    private void retireThenEnd(ChannelEnd caller, String reason) {
        retireHere(caller, reason);
        CompletableFuture.delayedExecutor(retirement.toMillis(), TimeUnit.MILLISECONDS, this::execute)
                .execute(() -> end(caller, reason, true, true));
    }

    private static boolean isBetweenHosts(Peer peer) {
        return !peer.endpoint().passesDescriptors();
    }

    private void requireOwnWay(String principal, boolean betweenHosts) {
        if (passNodes.test(principal, betweenHosts)) {
            throw new RpcFailedException(RpcStatus.REFUSED, passesNodes(principal));
        }
    }

    private static String passesNodes(String principal) {
        return "the calls of \"%s\" pass the nodes, because of its priority or its quota, or of a policy"
                .formatted(principal);
    }

    private void requireOn() {
        if (channelsMax == 0) {
            throw new RpcFailedException(RpcStatus.REFUSED, "channels are off at node %s".formatted(selfName));
        }
    }

    private ChannelEnd add(SessionChannels session, long server, @Nullable Peer peer, long tag) {
        ChannelEnd end = session.add(server, peer, tag);
        boolean kept = false;
        try {
            ends.keep(end);
            kept = true;
        } finally {
            if (!kept) {
                session.remove(end);
            }
        }
        if (end.isEnded()) { // its session ended before the end was kept, and did not find it
            ends.forget(end);
            throw new RpcFailedException(
                    RpcStatus.REFUSED, "the session of \"%s\" has ended".formatted(session.principal));
        }
        // The links forget a connection before they report its end: either that finds the channel, or this finds no
        // connection.
        if (peer != null && links.peer(peer.id()) != peer) {
            String reason =
                    "the connection to node %s was lost".formatted(peer.hello().node());
            end(end, reason, false, false);
            throw new NodeUnreachableException(reason);
        }
        return end;
    }

    /** The application was notified of a channel. */
    void announced(ChannelEnd end) {
        String reason = end.announce();
        String retirement = end.retirement();
        if (reason != null) {
            end.session.application.ended(end.number, reason);
        } else if (retirement != null) {
            end.session.application.retired(end.number, retirement);
        }
    }

    /**
     * Ends a channel. Never blocks; only the first call has an effect.
     *
     * @param tellApplication whether to tell this end's application
     * @param tellOther whether to tell the node of the other end
     */
    void end(ChannelEnd end, String reason, boolean tellApplication, boolean tellOther) {
        if (!end.end(reason)) {
            return;
        }
        ends.forget(end);
        end.session.remove(end);
        if (tellApplication && end.tellNow()) {
            boolean unused = execute(() -> end.session.application.ended(end.number, reason));
        }
        Peer peer = end.peer;
        if (peer != null && end.connecting) {
            peer.endpoint().dropStream(end.tag);
        }
        if (tellOther && peer == null) {
            ChannelEnd other = ends.find(new ChannelTable.Key(null, end.tag, !end.isCaller()));
            if (other != null) {
                end(other, reason, true, false);
            }
        } else if (tellOther && peer != null) {
            boolean unused =
                    execute(() -> notifyPeer(peer, end, end.isCaller() ? END_OF_SERVER : END_OF_CALLER, reason));
        }
    }

    /**
     * Asks the caller of a channel to close it when its calls under way have ended. Never blocks.
     *
     * @param end the server's
     */
    void retire(ChannelEnd end, String reason) {
        Peer peer = end.peer;
        if (peer == null) {
            retireHere(new ChannelTable.Key(null, end.tag, true), reason);
        } else {
            boolean unused = execute(() -> notifyPeer(peer, end, RETIRE, reason));
        }
    }

    private void retireHere(ChannelTable.Key key, String reason) {
        ChannelEnd caller = ends.find(key);
        if (caller != null) {
            retireHere(caller, reason);
        }
    }

    private void retireHere(ChannelEnd caller, String reason) {
        if (caller.retire(reason)) {
            boolean unused = execute(() -> caller.session.application.retired(caller.number, reason));
        }
    }

    /** Tells the other node. A connection that carries no control request for long is lost, which ends the channel there. */
    private void notifyPeer(Peer peer, ChannelEnd end, int what, String reason) {
        for (int tries = 0; tries < TELL_TRIES && links.peer(peer.id()) == peer; tries++) {
            try {
                ControlMessage request =
                        new ControlMessage().putLong(end.tag).putByte(what).putShortened(reason);
                ControlMessage unused =
                        control.call(peer.id(), ControlKind.END_CHANNEL, request, Deadline.in(TELL_MAX));
                return;
            } catch (LiteTimeoutException late) {
                log.warn(
                        "node {} was not told of a channel's end: {}",
                        peer.hello().node(),
                        late.getMessage());
            } catch (LiteException e) { // the connection was lost, or the node is stopping
                log.debug(
                        "node {} was not told of a channel's end", peer.hello().node(), e);
                return;
            }
        }
    }

    private void endAsked(ChannelTable.Key key, String reason) {
        ChannelEnd end = ends.findOrRefuse(key);
        if (end != null) {
            end(end, reason, true, false);
        }
    }

    /** Runs a task on a virtual thread; false if the node is stopping. */
    private boolean execute(Runnable task) {
        try {
            executor.execute(task);
            return true;
        } catch (RejectedExecutionException e) {
            log.debug("node {} is stopping", selfName, e);
            return false;
        }
    }

    @Override
    public void peerDisconnected(Peer peer, String reason) {
        String why = "the connection of nodes %s and %s ended: %s"
                .formatted(selfName, peer.hello().node(), reason);
        ends.lost(peer).forEach(end -> end(end, why, true, false));
    }

    /** Ends all channels and refuses new ones. The other nodes learn it from the end of the connections. Never blocks. */
    @Override
    public void close() {
        ends.close().forEach(end -> end(end, "node %s is stopping".formatted(selfName), true, false));
    }
}

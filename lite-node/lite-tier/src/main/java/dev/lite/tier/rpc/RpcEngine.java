package dev.lite.tier.rpc;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.StagedWait;
import dev.lite.os.waiting.TaskStart;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.FairShares;
import dev.lite.tier.NameRules;
import dev.lite.tier.channel.ChannelHost;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.control.ControlKind;
import dev.lite.tier.control.ControlMessage;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.ImmediateKind;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.peer.PeerListener;
import dev.lite.tier.peer.PollRole;
import dev.lite.tier.peer.Poster;
import dev.lite.tier.qos.SessionQos;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A node's outgoing and incoming calls: its slots, rings, bindings and functions, and the fabric events for them. Any
 * thread. {@link PeerListener} callbacks run on the thread that holds the poll role and run no user code.
 */
public final class RpcEngine implements PeerListener {
    /** Maximum number of functions and ports that a node serves; {@linkplain FairShares divided} among principals. */
    public static final int FUNCTIONS_MAX = 4096;

    private static final Logger log = LoggerFactory.getLogger(RpcEngine.class);
    /** The messages at all ports take a quarter of the heap at most. */
    private static final int HEAP_PART_OF_PORTS = 4;

    private static final Duration REPLY_TIMEOUT = Duration.ofSeconds(5);

    private final int self;
    private final String selfName;
    private final PeerLinks links;
    private final Executor executor;
    private final StagedWait waitAlone;
    private final ToIntFunction<String> nodeIds;
    private final RpcSlots slots;
    private final RpcReplies replies;
    private final RpcArrivals arrivals;
    private final RpcRings rings;
    private final RpcBindings bindings;
    private final RpcCaller caller;
    private final PostedCalls postedCalls;
    private final AsyncCalls asyncCalls;
    private final RpcCancels cancels;
    private final FunctionDirectory functionDirectory;
    /**
     * Those that are served, at most {@value #FUNCTIONS_MAX}, and those to which other nodes have rings. The rings limit the latter:
     * their number must not count for the former, since callers decide on it. Guarded by itself.
     */
    private final Map<String, RpcFunction> functions = new HashMap<>();

    /** By principal: the functions that it serves. Guarded by the functions map. */
    private final FairShares served = new FairShares(FUNCTIONS_MAX);

    private final PortMemory portMemory = new PortMemory(Runtime.getRuntime().maxMemory() / HEAP_PART_OF_PORTS);

    /**
     * @param nodeIds maps a node's name to its id; throws {@link NodeUnreachableException} if there is no such node
     * @param executor runs tasks on virtual threads
     * @param spins pauses before a waiting thread yields and then blocks
     * @param functionDirectory receives the functions that this node serves
     */
    public RpcEngine(
            int self,
            String selfName,
            PeerLinks links,
            NodeArena arena,
            ArenaAllocator allocator,
            PeerReads reads,
            ToIntFunction<String> nodeIds,
            Executor executor,
            int spins,
            ControlChannel channel,
            FunctionDirectory functionDirectory) {
        this.self = self;
        this.functionDirectory = functionDirectory;
        this.selfName = selfName;
        this.links = links;
        this.nodeIds = nodeIds;
        this.executor = executor;
        this.waitAlone = new StagedWait(spins);
        long address = arena.address();
        LongUnaryOperator room = bytes -> allocator
                .allocate(ArenaAllocator.INTERNAL_LMR, bytes, 1, 1)
                .getFirst()
                .offset();
        slots = new RpcSlots(address, room);
        replies = new RpcReplies(slots, reads, this::isConnected, this::tryExecute);
        arrivals = new RpcArrivals(selfName, slots, replies, reads, this::isConnected, this::execute);
        rings = new RpcRings(address, arena.size(), arena.peersMax(), room, slots, this::execute, this::isConnected);
        bindings = new RpcBindings(
                address,
                room,
                slots,
                (peer, function, principal, headOffset, generation, bytes, deadline) -> {
                    ControlMessage request = new ControlMessage()
                            .putLong(headOffset)
                            .putInt(generation)
                            .putName("the function", function)
                            .putName("the principal", principal)
                            .putInt(bytes);
                    ControlMessage ring = channel.call(peer.id(), ControlKind.BIND_FUNCTION, request, deadline);
                    return new RpcBindings.Ring(ring.getInt(), ring.getLong(), ringBytes(ring));
                },
                this::isConnected);
        RpcRequests requests = new RpcRequests(this, bindings);
        caller = new RpcCaller(this, replies, bindings, requests);
        postedCalls = new PostedCalls(this, replies, requests);
        asyncCalls = new AsyncCalls(caller, postedCalls);
        cancels = new RpcCancels(this, slots, (peer, calls, deadline) -> askToCancel(channel, peer, calls, deadline));
        links.addListener(this);
        links.onImmediate(ImmediateKind.CALL, this::callArrived);
        links.onImmediate(ImmediateKind.CALL_REPLY, replies::arrived);
        links.onImmediate(ImmediateKind.CALL_REPLY_READ, replies::wasRead);
        links.onPostEnd(Poster.CALL_SLOT, (index, error) -> replies.sent((int) index));
        links.onPostEnd(Poster.RING_HEAD, (which, error) -> headSent(which));
        channel.serveOfConnection(ControlKind.BIND_FUNCTION, (peer, request, reply) -> {
            long headOffset = request.getLong();
            int generation = request.getInt();
            String function = request.getName("the function");
            String principal = request.getName("the principal");
            RpcRing ring = bindFunction(peer, function, principal, headOffset, generation, ringBytes(request));
            reply.putInt(ring.id).putLong(ring.offset + RpcRing.PREFIX_BYTES).putInt(ring.bytes);
        });
        channel.serveOfConnection(ControlKind.CANCEL_CALLS, this::cancelCalls);
    }

    /** Cancels calls of this connection. Another one of its node has calls with the same numbers. */
    void cancelCalls(Peer peer, ControlMessage request, ControlMessage reply) {
        int count = request.getCount("calls", RpcCancels.CALLS_MAX);
        for (int i = 0; i < count; i++) {
            int ring = request.getInt();
            int place = request.getInt();
            int slot = request.getInt();
            long callId = request.getLong();
            boolean over = arrivals.cancel(rings.get(peer, ring), place, slot, callId);
            reply.putByte(over ? 1 : 0);
        }
    }

    /** The size of a ring at the end of a message. A node before this one leaves it out, and has one size. */
    private static int ringBytes(ControlMessage message) {
        if (message.remaining() == 0) {
            return RpcWire.RING_BYTES;
        }
        int bytes = message.getInt();
        if (!RpcWire.isRingSize(bytes)) {
            throw new RpcFailedException(
                    RpcStatus.REFUSED,
                    "a ring of %d bytes; the sizes are %d and %d"
                            .formatted(bytes, RpcWire.RING_BYTES, RpcWire.LARGE_RING_BYTES));
        }
        return bytes;
    }

    private static boolean[] askToCancel(
            ControlChannel channel, Peer peer, List<RpcCancels.Abandoned> calls, Deadline deadline) {
        ControlMessage request = new ControlMessage().putCount("calls", calls.size(), RpcCancels.CALLS_MAX);
        for (RpcCancels.Abandoned call : calls) {
            request.putInt(call.ring())
                    .putInt(call.place())
                    .putInt(call.slot().index)
                    .putLong(call.callId());
        }
        ControlMessage answer = channel.call(peer.id(), ControlKind.CANCEL_CALLS, request, deadline);
        boolean[] over = new boolean[calls.size()];
        for (int i = 0; i < over.length; i++) {
            over[i] = answer.getByte() != 0;
        }
        return over;
    }

    /** Cancels a call of this node to itself, queued or received. Returns false if it is neither, or is answered. */
    boolean cancelOwn(RpcCancels.Abandoned call) {
        RpcSlot slot = call.slot();
        RpcFunction function;
        synchronized (functions) {
            function = functions.get(slot.function);
        }
        return RpcArrivals.cancelOwn(slot, call.callId(), function);
    }

    /** A caller has stopped waiting for a call to a node. */
    void abandoned(int node) {
        cancels.abandoned(node);
    }

    /** The calls of one session, whose functions and ports have names that the rules allow. */
    public SessionRpc session(String principal, SessionQos qos, NameRules names) {
        return new SessionRpc(this, principal, qos, names);
    }

    /**
     * Makes a ring for calls from another node, at that node's request.
     *
     * @param headOffset the offset in that node's arena to which this node writes the head, tagged with the generation
     * @param bytes the wanted size of the ring
     */
    private RpcRing bindFunction(
            Peer peer, String function, String principal, long headOffset, int generation, int bytes) {
        synchronized (functions) {
            RpcFunction found = functions.get(function);
            if (found == null || found.principal() == null) {
                throw notServed(function);
            }
            return rings.make(peer, found, principal, bytes, headOffset, generation);
        }
    }

    RpcFailedException notServed(String function) {
        return new RpcFailedException(RpcStatus.NOT_SERVED, RpcNames.notServed(function, selfName));
    }

    FunctionServer serve(String name, String principal, boolean handled, Consumer<FunctionServer> whenClosed) {
        FunctionServer server;
        List<FunctionServer> others;
        synchronized (functions) {
            RpcFunction function = functions.get(name);
            if (function == null) {
                function = new RpcFunction(name, this);
                functions.put(name, function);
            }
            String owner = function.principal();
            if (owner != null && !owner.equals(principal)) {
                throw new LmrPermissionException(
                        "another principal has the %s at node %s".formatted(RpcNames.describe(name), selfName));
            }
            if (owner == null && !served.take(principal)) {
                forgetIfUnused(function);
                throw new LimitExceededException(
                        "\"%s\" serves %d functions and ports at node %s, and all principals %d; the limit is %d, and one principal may have as many as it leaves free"
                                .formatted(principal, served.of(principal), selfName, served.taken(), FUNCTIONS_MAX));
            }
            server = new FunctionServer(this, function, handled, whenClosed);
            others = function.addServer(server, principal);
        }
        if (others.isEmpty() && !RpcNames.isPort(name)) {
            functionDirectory.changed();
        }
        for (FunctionServer other : others) { // the node distributes the calls again
            other.retireChannels("the function \"%s\" has another server at node %s".formatted(name, selfName));
        }
        return server;
    }

    /**
     * The attached application that takes channels to a function.
     *
     * @throws RpcFailedException if not exactly one server serves the function, or not an attached application does
     */
    public ChannelHost channelHost(String name) {
        RpcFunction function = ownFunction(name);
        FunctionServer server = function.onlyServer();
        if (server == null) {
            int servers = function.servers();
            throw servers == 0
                    ? notServed(name)
                    : new RpcFailedException(
                            RpcStatus.REFUSED,
                            "the function \"%s\" has %d servers at node %s; a channel needs exactly one"
                                    .formatted(name, servers, selfName));
        }
        ChannelHost host = server.host();
        if (host == null) {
            throw new RpcFailedException(
                    RpcStatus.REFUSED,
                    "no attached application serves the function \"%s\" at node %s, but the node itself"
                            .formatted(name, selfName));
        }
        return host;
    }

    /** Removes one server of a function. */
    void close(FunctionServer server, RpcFunction function) {
        RpcFunction.Removal removal;
        synchronized (functions) { // with its place: serve() adds a server to those that are there
            removal = function.removeServer(server);
            if (removal.ofLast != null) {
                served.giveBack(removal.ofLast);
            }
            forgetIfUnused(function);
        }
        removal.finish();
        if (function.servers() == 0 && !RpcNames.isPort(function.name)) {
            functionDirectory.changed();
        }
    }

    /** The functions that this node serves, without its ports. */
    public Collection<String> servedFunctions() {
        List<String> served = new ArrayList<>();
        synchronized (functions) {
            functions.forEach((name, function) -> {
                if (!RpcNames.isPort(name) && function.servers() > 0) {
                    served.add(name);
                }
            });
        }
        return served;
    }

    /** Whether this node serves a function now. */
    boolean serves(String name) {
        synchronized (functions) {
            RpcFunction function = functions.get(name);
            return function != null && function.servers() > 0;
        }
    }

    FunctionDirectory functionDirectory() {
        return functionDirectory;
    }

    private void forgetIfUnused(RpcFunction function) {
        if (function.servers() == 0 && function.rings == 0) {
            functions.remove(function.name, function);
            function.forget();
        }
    }

    int id(String node) {
        return node.equals(selfName) ? self : nodeIds.applyAsInt(node);
    }

    boolean isSelf(int node) {
        return node == self;
    }

    String selfName() {
        return selfName;
    }

    /** The connection to a node; see {@link PeerLinks#awaitFirst}. */
    Peer peer(int node, long deadlineNs) {
        return links.awaitFirst(node, Deadline.in(Duration.ofNanos(Math.max(0, deadlineNs - System.nanoTime()))));
    }

    NodeUnreachableException unreachable(int node) {
        String trouble = links.trouble(node);
        return new NodeUnreachableException("node %s is not connected to node %s: %s"
                .formatted(selfName, links.nameOf(node), trouble == null ? "no connection was made yet" : trouble));
    }

    /** The connection to a node, or null. */
    @Nullable
    Peer connected(int node) {
        return links.peer(node);
    }

    boolean isConnected(Peer peer) {
        return links.peer(peer.id()) == peer;
    }

    PortMemory portMemory() {
        return portMemory;
    }

    RpcArrivals arrivals() {
        return arrivals;
    }

    RpcCaller caller() {
        return caller;
    }

    PostedCalls postedCalls() {
        return postedCalls;
    }

    AsyncCalls asyncCalls() {
        return asyncCalls;
    }

    /** How a thread waits that polls no fabric. */
    StagedWait waitAlone() {
        return waitAlone;
    }

    /**
     * The poll role that a thread in receive may take. The standby threads of the other fabrics also poll for that
     * thread.
     */
    @Nullable
    PollRole receiveRole() {
        return links.pollRole();
    }

    /** Runs a task on a virtual thread. Drops it if the node is stopping. */
    void execute(Runnable task) {
        boolean unused = tryExecute(task);
    }

    /** Runs a task on a virtual thread. False: drops it, since the node is stopping. */
    boolean tryExecute(Runnable task) {
        try {
            TaskStart.on(executor, task);
            return true;
        } catch (RejectedExecutionException e) {
            log.debug("node {} is stopping", selfName, e);
            return false;
        }
    }

    /** A function that this node calls at itself. */
    RpcFunction ownFunction(String name) {
        synchronized (functions) {
            RpcFunction function = functions.get(name);
            if (function == null) {
                throw notServed(name);
            }
            return function;
        }
    }

    /** The slots for a principal's calls of a function of this node itself. */
    RpcSlotShare ownCalls(RpcFunction function, String principal) {
        RpcSlotShare known = function.ownCalls(principal);
        if (known == null) {
            synchronized (functions) {
                known = function.makeOwnCalls(principal, slots);
            }
        }
        if (known == null) {
            throw notServed(function.name);
        }
        return known;
    }

    private void callArrived(Peer peer, int payload) {
        RpcRing ring = rings.get(peer, (payload >>> RpcWire.RING_SHIFT) & (RpcWire.RINGS_MAX - 1));
        int place = (payload & RpcWire.PLACE_MASK) * RpcWire.UNIT_BYTES;
        if (ring == null || place >= ring.bytes) {
            log.warn(
                    "node {} called into a ring that does not exist: 0x{}",
                    peer.hello().node(),
                    Integer.toHexString(payload));
            return;
        }
        RpcEntry entry = ring.entryAt(place);
        int flags = RawMemory.getInt(ring.address(place) + RpcWire.PADDING_AND_FLAGS);
        if ((flags & RpcWire.FLAG_CANCELLED) != 0) {
            ReceivedCall none = arrivals.take(ring.function, entry); // only frees the entry's room
            if (none != null) {
                log.warn(
                        "node {} changed a call that it had cancelled",
                        peer.hello().node());
            }
            return;
        }
        if (!ring.function.arrived(entry)) {
            arrivals.refuse(entry);
        }
    }

    /** @param which the post's context, as {@link RpcRing} encodes it: the calling node and the ring's number */
    private void headSent(long which) {
        Peer peer = links.peer((int) (which >>> Integer.SIZE));
        RpcRing ring = peer == null ? null : rings.get(peer, (int) which);
        if (ring != null) {
            ring.headWritten();
        }
    }

    @Override
    public void peerDisconnected(Peer peer, String reason) {
        bindings.remove(peer);
        endCalls(peer);
        List<RpcRing> removed = rings.remove(peer);
        synchronized (functions) {
            for (RpcRing ring : removed) {
                ring.function.rings--;
                forgetIfUnused(ring.function);
            }
        }
    }

    /** Ends the calls to a node without replies; null: those to this node itself. */
    private void endCalls(@Nullable Peer peer) {
        slots.forEachOf(peer, slot -> {
            try {
                endCall(peer, slot);
            } catch (RuntimeException | Error e) { // for example no memory: the other calls must end, too
                notEnded(e);
            }
        });
    }

    private static void notEnded(Throwable failure) {
        try {
            Unrecoverable.report(failure);
            log.error("a call of a lost connection could not be ended", failure);
        } catch (RuntimeException | Error e) {
            // no memory for a line
        }
    }

    private static void endCall(@Nullable Peer peer, RpcSlot slot) {
        if (slot.changeOf(peer, RpcSlot.WAITING, RpcSlot.LOST)) {
            slot.signal();
            return;
        }
        PostedCall posted = slot.takePostedTo(peer);
        if (posted != null) {
            posted.lost(slot);
        } else if (slot.changeOf(peer, RpcSlot.ABANDONED, RpcSlot.OWNED)
                || slot.changeOf(peer, RpcSlot.OFFERED, RpcSlot.OWNED)) {
            slot.giveBack();
        }
    }

    /** Calls at this node that no server has received yet, of all functions. */
    public int queuedCalls() {
        List<RpcFunction> all;
        synchronized (functions) {
            all = List.copyOf(functions.values());
        }
        return all.stream().mapToInt(RpcFunction::queued).sum();
    }

    /** Arena bytes that this node's calls use now: slots, rings and head words. */
    public long memoryBytes() {
        return slots.bytes() + rings.bytes() + bindings.bytes();
    }

    /**
     * Rejects new calls and waits for those under way: those of this node to itself, since the connections have ended. Then these fail, and
     * their late replies are dropped.
     *
     * @return false if a thread still uses the memory of a call at the deadline; then the arena must stay mapped
     */
    public boolean close(Deadline deadline) {
        slots.close();
        if (!slots.awaitUnused(deadline.atMost(REPLY_TIMEOUT).endNs())) {
            log.warn("node {} stops while a call is still in flight", selfName);
        }
        endCalls(null);
        return slots.end(deadline.endNs());
    }
}

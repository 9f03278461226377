package dev.lite.tier.rpc;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcFailedException;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.control.ControlKind;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.ImmediateKind;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.peer.PeerListener;
import dev.lite.tier.peer.PollRole;
import dev.lite.tier.peer.Poster;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The calls of a node, out and in: its slots, rings, bindings and functions, and what comes from the fabric for them. Any
 * thread; what {@link PeerListener} says runs on the thread that has the poll role, and runs no user code.
 */
public final class RpcEngine implements PeerListener, AutoCloseable {
    /** How many functions a node may serve. */
    public static final int FUNCTIONS_MAX = 4096;

    private static final Logger log = LoggerFactory.getLogger(RpcEngine.class);
    private static final long REPLY_TIMEOUT_NS = 5_000_000_000L;
    private static final Duration REMOTE_REQUEST_TIMEOUT = Duration.ofSeconds(5);

    private final int self;
    private final String selfName;
    private final PeerLinks links;
    private final RemoteMemory remoteMemory;
    private final Executor executor;
    private final int spins;
    private final ToIntFunction<String> nodeIds;
    private final RpcSlots slots;
    private final RpcReplies replies;
    private final RpcRings rings;
    private final RpcBindings bindings;
    private final RpcCaller caller;
    private final Map<String, RpcFunction> functions = new HashMap<>(); // guarded by itself

    /**
     * @param nodeIds the id of a node by its name; throws {@link NodeUnreachableException} when there is none
     * @param executor of virtual threads
     * @param spins spins before a waiting thread sleeps
     */
    public RpcEngine(
            int self,
            String selfName,
            PeerLinks links,
            NodeArena arena,
            ArenaAllocator allocator,
            RemoteMemory remoteMemory,
            ToIntFunction<String> nodeIds,
            Executor executor,
            int spins,
            ControlChannel channel) {
        this.self = self;
        this.selfName = selfName;
        this.links = links;
        this.remoteMemory = remoteMemory;
        this.nodeIds = nodeIds;
        this.executor = executor;
        this.spins = spins;
        slots = new RpcSlots(arena, allocator);
        replies = new RpcReplies(slots);
        rings = new RpcRings(arena, allocator, this::execute);
        bindings = new RpcBindings(arena, allocator, channel);
        caller = new RpcCaller(this, slots, bindings);
        links.addListener(this);
        links.onImmediate(ImmediateKind.CALL, this::callArrived);
        links.onImmediate(ImmediateKind.CALL_REPLY, replies::arrived);
        links.onPostEnd(Poster.CALL_SLOT, (index, error) -> replies.sent((int) index));
        links.onPostEnd(Poster.RING_HEAD, (which, error) -> headSent(which));
        channel.serve(ControlKind.BIND_FUNCTION, (node, request, reply) -> {
            long headOffset = request.getLong();
            int generation = request.getInt();
            String function = request.getName("the function");
            RpcRing ring = bindFunction(node, function, request.getName("the principal"), headOffset, generation);
            reply.putInt(ring.id).putLong(ring.offset + RpcRing.PREFIX_BYTES);
        });
    }

    /** The calls of one session. */
    public SessionRpc session(String principal) {
        return new SessionRpc(this, principal);
    }

    /**
     * Makes a ring for calls from another node, which asks for it.
     *
     * @param headOffset where in that node's arena the head is written, marked with the generation
     */
    private RpcRing bindFunction(int node, String function, String principal, long headOffset, int generation) {
        Peer peer = links.peer(node);
        if (peer == null) {
            throw unreachable(node);
        }
        synchronized (functions) {
            RpcFunction found = functions.get(function);
            if (found == null || found.principal() == null) {
                throw notServed(function);
            }
            RpcRing ring = rings.make(peer, found, principal, headOffset, generation);
            found.rings++;
            return ring;
        }
    }

    private RpcFailedException notServed(String function) {
        return new RpcFailedException("nobody serves the function \"%s\" at node %s".formatted(function, selfName));
    }

    FunctionServer serve(String name, String principal, boolean handled, Consumer<FunctionServer> whenClosed) {
        synchronized (functions) {
            RpcFunction function = functions.get(name);
            if (function == null) {
                if (functions.size() >= FUNCTIONS_MAX) {
                    throw new LimitExceededException("node %s has %d functions; the limit is %d"
                            .formatted(selfName, functions.size(), FUNCTIONS_MAX));
                }
                function = new RpcFunction(name, this);
                functions.put(name, function);
            }
            String owner = function.principal();
            if (owner != null && !owner.equals(principal)) {
                throw new LmrPermissionException(
                        "the function \"%s\" is served by another principal at node %s".formatted(name, selfName));
            }
            function.addServer(principal);
            return new FunctionServer(this, function, handled, whenClosed);
        }
    }

    /** Ends one server of a function. */
    void close(RpcFunction function) {
        function.removeServer();
        synchronized (functions) {
            forgetIfUnused(function);
        }
    }

    private void forgetIfUnused(RpcFunction function) {
        if (function.servers() == 0 && function.rings == 0) {
            functions.remove(function.name, function);
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

    Peer peer(int node) {
        Peer peer = links.peer(node);
        if (peer == null) {
            throw unreachable(node);
        }
        return peer;
    }

    NodeUnreachableException unreachable(int node) {
        return new NodeUnreachableException(
                "node %s is not connected to node %d: %s".formatted(selfName, node, links.trouble(node)));
    }

    boolean isConnected(Peer peer) {
        return links.peer(peer.id()) == peer;
    }

    Executor executor() {
        return executor;
    }

    RpcCaller caller() {
        return caller;
    }

    int spins() {
        return spins;
    }

    /** The role that a thread in receive may take. The standby threads of the other fabrics poll for it, too. */
    @Nullable
    PollRole receiveRole() {
        return links.pollRole();
    }

    /** Runs something on a virtual thread; when the node stops, nothing needs to be run any more. */
    void execute(Runnable task) {
        try {
            executor.execute(task);
        } catch (RejectedExecutionException e) {
            log.debug("node {} stops", selfName, e);
        }
    }

    /** A call of this node itself. The caller's thread. */
    void callSelf(String name, RpcSlot slot) {
        RpcFunction function;
        synchronized (functions) {
            function = functions.get(name);
        }
        if (function == null) {
            throw notServed(name);
        }
        function.arrived(slot.entry);
    }

    private void callArrived(Peer peer, int payload) {
        RpcRing ring = rings.get(peer, (payload >>> RpcWire.RING_SHIFT) & (RpcWire.RINGS_MAX - 1));
        int place = (payload & RpcWire.PLACE_MASK) * RpcWire.UNIT_BYTES;
        if (ring == null || place >= RpcWire.RING_BYTES) {
            log.warn(
                    "node {} called into a ring that it does not have: 0x{}",
                    peer.hello().node(),
                    Integer.toHexString(payload));
            return;
        }
        RpcEntry entry = ring.entryAt(place);
        int flags = RawMemory.getInt(ring.address(place) + RpcWire.PADDING_AND_FLAGS);
        if ((flags & RpcWire.FLAG_CANCELLED) != 0) {
            ReceivedCall none = take(entry, ring.function); // only gives the room back
            if (none != null) {
                log.warn(
                        "node {} cancelled a call that it did not", peer.hello().node());
            }
            return;
        }
        ring.function.arrived(entry);
    }

    /** @param which as {@link RpcRing} puts it into the context: the calling node, and the ring's number */
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
        slots.forEachOf(peer, slot -> {
            if (slot.change(RpcSlot.WAITING, RpcSlot.LOST)) {
                slot.signal();
            } else if (slot.change(RpcSlot.ABANDONED, RpcSlot.OWNED)) {
                slots.giveBack(slot);
            }
        });
        @Nullable RpcRing[] removed = rings.remove(peer);
        synchronized (functions) {
            for (RpcRing ring : removed) {
                if (ring != null) {
                    ring.function.rings--;
                    forgetIfUnused(ring.function);
                }
            }
        }
    }

    /**
     * Copies a call out of where it arrived, and gives that room back.
     *
     * @return null when there is none any more: it was cancelled, its connection is gone, or it makes no sense
     */
    @Nullable
    ReceivedCall take(RpcEntry entry, RpcFunction function) {
        RpcRing ring = entry.ring;
        if (ring != null) {
            return takeFromRing(ring, entry.place, function);
        }
        RpcSlot slot = entry.slot;
        if (slot == null) {
            throw new IllegalStateException("an entry is of a ring or of a slot");
        }
        byte[] request = new byte[slot.requestLength];
        RawMemory.copyTo(slot.outAddress + RpcWire.REQUEST, MemorySegment.ofArray(request), 0, request.length);
        return new ReceivedCall(
                replies, null, selfName, slot.principal, request, slot.index, 0, slot.callId, slot.replyCapacity);
    }

    private @Nullable ReceivedCall takeFromRing(RpcRing ring, int place, RpcFunction function) {
        Peer peer = ring.peer;
        byte[] request;
        long remote = 0;
        int slot;
        int capacity;
        long callId;
        long replyTo;
        boolean cancelled;
        synchronized (ring) {
            if (!ring.isAlive()) {
                return null;
            }
            long at = ring.address(place);
            int length = RawMemory.getInt(at + RpcWire.LENGTH);
            int word = RawMemory.getInt(at + RpcWire.PADDING_AND_FLAGS);
            boolean isRemote = (word & RpcWire.FLAG_REMOTE) != 0;
            cancelled = (word & RpcWire.FLAG_CANCELLED) != 0;
            int padding = word & RpcWire.PADDING_MASK;
            capacity = RawMemory.getInt(at + RpcWire.CAPACITY);
            if (!RpcWire.isMessageLength(length)
                    || !RpcWire.isMessageLength(capacity)
                    || (!isRemote && length > RpcWire.INLINE_BYTES_MAX)
                    || !RpcRing.isPossible(place, padding, RpcWire.entryBytes(length, isRemote))) {
                log.error(
                        "node {} sent a call that makes no sense; its connection is cut: length {}, word 0x{}",
                        peer.hello().node(),
                        length,
                        Integer.toHexString(word));
                peer.endpoint().close();
                return null;
            }
            callId = RawMemory.getLong(at + RpcWire.CALL_ID);
            slot = RawMemory.getInt(at + RpcWire.SLOT);
            replyTo = RawMemory.getLong(at + RpcWire.REPLY_TO);
            request = new byte[length];
            if (isRemote) {
                remote = RawMemory.getLong(at + RpcWire.REQUEST);
            } else {
                RawMemory.copyTo(at + RpcWire.REQUEST, MemorySegment.ofArray(request), 0, length);
            }
            ring.consume(place, padding, RpcWire.entryBytes(length, isRemote));
        }
        if (cancelled || (remote != 0 && !fetch(peer, remote, request, function))) {
            return null;
        }
        return new ReceivedCall(
                replies, peer, peer.hello().node(), ring.principal, request, slot, replyTo, callId, capacity);
    }

    /** Reads a long request from its caller's slot. */
    private boolean fetch(Peer peer, long offset, byte[] request, RpcFunction function) {
        try {
            remoteMemory.read(
                    peer.id(),
                    peer.hello().arenaId(),
                    offset,
                    MemorySegment.ofArray(request),
                    0,
                    request.length,
                    Deadline.in(REMOTE_REQUEST_TIMEOUT));
            return true;
        } catch (LiteException | IndexOutOfBoundsException e) {
            // The caller fails by the same broken connection, or by its deadline.
            log.debug(
                    "a call of {} by node {} was dropped",
                    function.name,
                    peer.hello().node(),
                    e);
            return false;
        }
    }

    /** Answers a call that nobody will carry out. */
    void refuse(RpcEntry entry, String format) {
        RpcRing ring = entry.ring;
        RpcSlot slot = entry.slot;
        if (ring == null && slot != null) {
            failSelf(slot, format.formatted(slot.function, selfName));
        } else if (ring != null) {
            ReceivedCall call = takeFromRing(ring, entry.place, ring.function);
            if (call != null) {
                call.fail(format.formatted(ring.function.name, selfName));
            }
        }
    }

    private void failSelf(RpcSlot slot, String message) {
        ReceivedCall call = new ReceivedCall(
                replies, null, selfName, slot.principal, new byte[0], slot.index, 0, slot.callId, slot.replyCapacity);
        call.fail(message);
    }

    /** Bytes of the arena that calls take at this node now: slots, rings, and words for heads. */
    public long memoryBytes() {
        return slots.bytes() + rings.bytes() + bindings.bytes();
    }

    /** Lets no call begin any more. The sessions and the connections are closed then. */
    @Override
    public void close() {
        slots.close();
        if (!slots.awaitUnused(System.nanoTime() + REPLY_TIMEOUT_NS)) {
            log.warn("node {} stops while a call is still under way", selfName);
        }
    }
}

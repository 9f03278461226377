package dev.lite.tier.control;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.TaskStart;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.wire.WireError;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.BusyPause;
import dev.lite.tier.peer.ImmediateKind;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.peer.PeerListener;
import dev.lite.tier.peer.Poster;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Small calls between nodes by write-with-immediate: one for the request, one for the reply. LITE's RPC works the same
 * way (paper §5.1), but this channel uses fixed slots instead of rings.
 *
 * <p>Each node's arena has an area for each peer: four quarters of {@value #SLOTS} slots of {@value #SLOT_BYTES} bytes.
 * The peer writes its requests and replies into the first two quarters; the last two are this node's send buffers to
 * the peer. The immediate carries the kind (request or reply) and the slot. A slot belongs to one call until its reply
 * arrives. A call that gives up leaves its slot in quarantine until the late reply or the end of the connection. So no
 * late write lands in another call's slot, and no send buffer is reused under a post.
 *
 * <p>Memory bound: peers × {@link NodeArena#CONTROL_BYTES}; at most {@value #SLOTS} requests of each peer run at once.
 */
public final class ControlChannel implements PeerListener, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ControlChannel.class);

    private static final int SLOTS = 4;
    private static final int SLOT_BYTES = 2048;
    private static final int HEADER_BYTES = 16; // length, status, sequence
    private static final long IN_REQUESTS = 0;
    private static final long IN_REPLIES = (long) SLOTS * SLOT_BYTES;
    private static final long OUT_REQUESTS = 2 * IN_REPLIES;
    private static final long OUT_REPLIES = 3 * IN_REPLIES;

    /** The maximum of a message, including its kind. */
    private static final int BYTES_MAX = SLOT_BYTES - HEADER_BYTES;

    private static final int SLOT_MASK = SLOTS - 1;
    private static final int STATUS_OK = 0;

    private static final Duration FOR_EVER = Duration.ofDays(36_500);

    private final int self;
    private final NodeArena arena;
    private final PeerLinks links;
    /** Written before the links are started. */
    private final Map<ControlKind, ControlHandler> handlers = new EnumMap<>(ControlKind.class);

    private final Map<ControlKind, ControlHandler.OfConnection> handlersOfConnections =
            new EnumMap<>(ControlKind.class);

    private final Executor executor;
    /** By node. The calls of a connection are here, or all of them have ended. */
    private final AtomicReferenceArray<@Nullable Calls> calls;

    /** Numbers of calls. All connections of a node share its slots, so no two of them may use the same number. */
    private final AtomicLong sequences = new AtomicLong();

    /** By node: for its send buffers. */
    private final ReentrantLock[] sending;

    private final ReentrantReadWriteLock arenaInUse = new ReentrantReadWriteLock();
    private boolean closed; // guarded by arenaInUse

    /** Makes room for messages that arrive; another one in tests. */
    IntFunction<byte[]> memory = byte[]::new;

    /**
     * @param self this node's id
     * @param executor for the handlers; virtual threads
     */
    public ControlChannel(int self, NodeArena arena, PeerLinks links, Executor executor) {
        this.self = self;
        this.arena = arena;
        this.links = links;
        this.executor = executor;
        this.calls = new AtomicReferenceArray<>(arena.peersMax());
        this.sending = new ReentrantLock[arena.peersMax()];
        Arrays.setAll(sending, node -> new ReentrantLock());
        links.addListener(this);
        links.onImmediate(ImmediateKind.CONTROL_REQUEST, (peer, payload) -> requestArrived(peer, payload & SLOT_MASK));
        links.onImmediate(ImmediateKind.CONTROL_REPLY, (peer, payload) -> replyArrived(peer, payload & SLOT_MASK));
    }

    /**
     * Registers the handler for a kind of request. Call it before the links start.
     *
     * @throws IllegalStateException if the kind has a handler already
     */
    public void serve(ControlKind kind, ControlHandler handler) {
        requireUnserved(kind);
        handlers.put(kind, handler);
    }

    /** {@link #serve} with a handler that needs the connection of each request. */
    public void serveOfConnection(ControlKind kind, ControlHandler.OfConnection handler) {
        requireUnserved(kind);
        handlersOfConnections.put(kind, handler);
    }

    private void requireUnserved(ControlKind kind) {
        if (handlers.containsKey(kind) || handlersOfConnections.containsKey(kind)) {
            throw new IllegalStateException("control requests of the kind %s have a handler already".formatted(kind));
        }
    }

    /**
     * Calls a node and waits for its reply. A call to this node runs the handler directly.
     *
     * @return the reply
     * @throws LiteException the exception of the other node's handler
     * @throws NodeUnreachableException if there is no connection, or it broke before the reply
     * @throws dev.lite.api.LiteTimeoutException at the deadline
     */
    public ControlMessage call(int node, ControlKind kind, ControlMessage request, Deadline deadline) {
        if (node == self) {
            ControlMessage reply = new ControlMessage();
            handler(kind).handle(self, request.written(), reply);
            return reply.written();
        }
        return await(node, begin(node, kind, request, deadline), deadline);
    }

    /**
     * Waits for the reply to a call that was {@linkplain #begin begun}.
     *
     * @param node the called node
     * @throws LiteException as {@link #call} does
     */
    public ControlMessage await(int node, CompletableFuture<byte[]> reply, Deadline deadline) {
        try {
            return new ControlMessage(reply.get(deadline.remainingNs(), TimeUnit.NANOSECONDS));
        } catch (TimeoutException e) {
            throw new LiteTimeoutException(deadline.expired("a control request to node " + links.nameOf(node)));
        } catch (ExecutionException e) {
            if (e.getCause() instanceof LiteException error) {
                throw WireError.again(error, String.valueOf(error.getMessage()));
            }
            // There was no memory to say that the connection broke.
            throw new NodeUnreachableException(
                    "the reply to a control request to node %s is lost".formatted(links.nameOf(node)), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new NodeUnreachableException("interrupted during a control request to node " + links.nameOf(node), e);
        }
    }

    /**
     * Sends a request to another node without waiting for the reply. The deadline limits only the sending; the reply
     * may arrive later.
     *
     * @return completes exactly once, on a thread that must not block: with the bytes of the reply, with the exception of the
     *     other node's handler, or with a {@link NodeUnreachableException} if the connection broke first
     * @throws LiteException if the request was not sent
     */
    public CompletableFuture<byte[]> begin(int node, ControlKind kind, ControlMessage request, Deadline deadline) {
        byte[] payload = request.toBytes();
        byte[] message = new byte[1 + payload.length];
        message[0] = kind.number();
        System.arraycopy(payload, 0, message, 1, payload.length);
        Peer peer = links.awaitPeer(node, deadline);
        Calls ofPeer = callsOf(peer);
        Call call = ofPeer.take(kind.slots(), deadline);
        boolean sent = false;
        Post post;
        try {
            post = send(peer, ImmediateKind.CONTROL_REQUEST, call.slot, STATUS_OK, call.sequence, message, deadline);
            sent = post == Post.DONE || post == Post.ACCEPTED;
        } finally {
            if (!sent) {
                ofPeer.giveBack(call);
            }
        }
        if (sent) {
            return call.reply;
        }
        if (post != Post.BUSY) {
            throw lost(peer);
        }
        throw new LiteTimeoutException(deadline.expired(
                "posting a control request to node " + peer.hello().node()));
    }

    private ControlHandler handler(ControlKind kind) {
        ControlHandler handler = handlers.get(kind);
        if (handler == null) {
            throw new RpcFailedException(
                    RpcStatus.REFUSED, "node %d does not serve control requests of the kind %s".formatted(self, kind));
        }
        return handler;
    }

    /** An interrupt does not end it: the message may release what others wait for. */
    private Post send(
            Peer peer, ImmediateKind kind, int slot, int status, long sequence, byte[] message, Deadline deadline) {
        arenaInUse.readLock().lock();
        try {
            for (BusyPause busy = new BusyPause(); ; busy.pause()) {
                Post post = closed ? Post.CLOSED : trySend(peer, kind, slot, status, sequence, message);
                if (post != Post.BUSY || deadline.passed()) {
                    return post;
                }
            }
        } finally {
            arenaInUse.readLock().unlock();
        }
    }

    /**
     * All connections of a node share its send buffers. So only the current connection may use them, one thread at a
     * time: what a request of a former connection still answers must not overwrite a reply that is not sent yet.
     */
    private Post trySend(Peer peer, ImmediateKind kind, int slot, int status, long sequence, byte[] message) {
        boolean request = kind == ImmediateKind.CONTROL_REQUEST;
        long at = slot * (long) SLOT_BYTES;
        long local = area(peer.id()) + (request ? OUT_REQUESTS : OUT_REPLIES) + at;
        long remote = peer.hello().controlOffset()
                + self * NodeArena.CONTROL_BYTES
                + (request ? IN_REQUESTS : IN_REPLIES)
                + at;
        ReentrantLock buffers = sending[peer.id()];
        buffers.lock();
        try {
            if (links.peer(peer.id()) != peer) {
                return Post.CLOSED;
            }
            put(local, status, sequence, message);
            return peer.endpoint()
                    .writeImm(remote, local, HEADER_BYTES + message.length, kind.with(slot), Poster.NOBODY);
        } finally {
            buffers.unlock();
        }
    }

    /** Ends the use of the arena: after the return nothing here touches it. Close the fabrics first. */
    @Override
    public void close() {
        arenaInUse.writeLock().lock();
        try {
            closed = true;
        } finally {
            arenaInUse.writeLock().unlock();
        }
    }

    private void requestArrived(Peer peer, int slot) {
        long address = area(peer.id()) + IN_REQUESTS + slot * (long) SLOT_BYTES;
        long sequence = RawMemory.getLong(address + 8);
        int length = RawMemory.getInt(address);
        try {
            byte[] request = isLength(length) ? get(address, length) : null;
            TaskStart.on(executor, () -> serve(peer, slot, sequence, length, request));
        } catch (RejectedExecutionException e) {
            log.debug(
                    "dropped a control request of node {}: this node stops",
                    peer.hello().node());
        } catch (RuntimeException | Error e) { // for example no memory for a thread
            peer.endpoint().close(); // nobody will answer it, so only that ends the use of its slot
            throw e;
        }
    }

    /** @param request null if its length is invalid */
    private void serve(Peer peer, int slot, long sequence, int length, byte @Nullable [] request) {
        boolean answered = false;
        try {
            answer(peer, slot, sequence, length, request);
            answered = true;
        } finally {
            if (!answered) { // for example no memory for the answer
                peer.endpoint().close();
            }
        }
    }

    private void answer(Peer peer, int slot, long sequence, int length, byte @Nullable [] request) {
        int status = STATUS_OK;
        byte[] reply;
        try {
            if (request == null) {
                throw new RpcFailedException(
                        RpcStatus.REFUSED,
                        "a control request has a length of %d bytes; it must have 1 to %d"
                                .formatted(length, BYTES_MAX));
            }
            reply = carryOut(peer, request);
        } catch (LiteException e) {
            status = e.code().number();
            reply = WireError.bytes(e, BYTES_MAX);
        } catch (Throwable e) { // also an Error: answer, so that the caller does not wait until its deadline
            Unrecoverable.report(e);
            log.error("a control request of node {} failed", peer.hello().node(), e);
            status = LiteException.Code.RPC_FAILED.number();
            reply = WireError.bytes(RpcStatus.UNKNOWN, 0, "control request failed: " + e, BYTES_MAX);
        }
        // Until it is accepted or the connection ends: without an answer, the caller's slot is in use as long.
        send(peer, ImmediateKind.CONTROL_REPLY, slot, status, sequence, reply, Deadline.in(FOR_EVER));
    }

    private byte[] carryOut(Peer peer, byte[] bytes) {
        ControlMessage request = new ControlMessage(bytes);
        byte number = request.getByte();
        ControlKind kind = ControlKind.of(number);
        if (kind == null) {
            throw new RpcFailedException(
                    RpcStatus.REFUSED,
                    "node %d does not serve control requests of the kind %d".formatted(self, number));
        }
        ControlMessage reply = new ControlMessage();
        ControlHandler.OfConnection ofConnection = handlersOfConnections.get(kind);
        if (ofConnection != null) {
            ofConnection.handle(peer, request, reply);
        } else {
            handler(kind).handle(peer.id(), request, reply);
        }
        return reply.toBytes();
    }

    private void replyArrived(Peer peer, int slot) {
        Calls ofPeer = calls.get(peer.id());
        if (ofPeer == null || ofPeer.peer != peer) {
            return; // the reply to a call on an earlier connection
        }
        long address = area(peer.id()) + IN_REPLIES + slot * (long) SLOT_BYTES;
        long sequence = RawMemory.getLong(address + 8);
        int length = RawMemory.getInt(address);
        if (isLength(length)) {
            byte[] reply;
            try {
                reply = get(address, length);
            } catch (OutOfMemoryError e) { // no further reply comes, so only that ends the call
                peer.endpoint().close();
                throw e;
            }
            ofPeer.answered(slot, sequence, RawMemory.getInt(address + 4), reply);
        } else {
            String malformed = "a control reply of node %s has a length of %d bytes; the limit is %d"
                    .formatted(peer.hello().node(), length, BYTES_MAX);
            ofPeer.answered(
                    slot,
                    sequence,
                    LiteException.Code.RPC_FAILED.number(),
                    WireError.bytes(RpcStatus.UNKNOWN, 0, malformed, BYTES_MAX));
        }
    }

    @Override
    public void peerDisconnected(Peer peer, String reason) {
        Calls ofPeer = calls.get(peer.id());
        if (ofPeer != null && ofPeer.peer == peer && calls.compareAndSet(peer.id(), ofPeer, null)) {
            ofPeer.failAll(); // else callsOf() replaced and failed them
        }
    }

    private Calls callsOf(Peer peer) {
        while (true) {
            Calls known = calls.get(peer.id());
            if (known != null && known.peer == peer) {
                return known;
            }
            if (links.peer(peer.id()) != peer) {
                throw lost(peer);
            }
            if (calls.compareAndSet(peer.id(), known, new Calls(peer)) && known != null) {
                known.failAll(); // its connection was replaced; its end may be reported later
            }
        }
    }

    private NodeUnreachableException lost(Peer peer) {
        return new NodeUnreachableException(
                "the connection to node %s broke: %s".formatted(peer.hello().node(), links.trouble(peer.id())));
    }

    private long area(int node) {
        return arena.address() + arena.controlOffset() + node * NodeArena.CONTROL_BYTES;
    }

    private static void put(long address, int status, long sequence, byte[] payload) {
        RawMemory.putInt(address, payload.length);
        RawMemory.putInt(address + 4, status);
        RawMemory.putLong(address + 8, sequence);
        RawMemory.copyFrom(MemorySegment.ofArray(payload), 0, address + HEADER_BYTES, payload.length);
    }

    private static boolean isLength(int length) {
        return length >= 0 && length <= BYTES_MAX;
    }

    private byte[] get(long address, int length) {
        byte[] message = memory.apply(length);
        RawMemory.copyTo(address + HEADER_BYTES, MemorySegment.ofArray(message), 0, length);
        return message;
    }

    /** One call that waits for its reply. */
    private static final class Call {
        final ControlKind.Slots slots;
        final int slot;
        final long sequence;
        final CompletableFuture<byte[]> reply = new CompletableFuture<>();

        Call(ControlKind.Slots slots, int slot, long sequence) {
            this.slots = slots;
            this.slot = slot;
            this.sequence = sequence;
        }
    }

    /** The calls over one connection. */
    private final class Calls {
        final Peer peer;
        /** Fair: a thread whose call has ended makes its next one after those that wait. */
        private final ReentrantLock lock = new ReentrantLock(true);

        private final Condition freed = lock.newCondition();
        private final @Nullable Call[] bySlot = new @Nullable Call[SLOTS];
        private boolean ended;

        Calls(Peer peer) {
            this.peer = peer;
        }

        Call take(ControlKind.Slots slots, Deadline deadline) {
            lock.lock();
            try {
                while (!ended) {
                    for (int slot = 0; slot < SLOTS && underWay(slots) < slots.max(); slot++) {
                        if (bySlot[slot] == null && slots.has(slot)) {
                            Call call = new Call(slots, slot, sequences.incrementAndGet());
                            bySlot[slot] = call;
                            return call;
                        }
                    }
                    if (freed.awaitNanos(deadline.remainingNs()) <= 0) {
                        throw new LiteTimeoutException(
                                deadline.expired("waiting for one of the %d control slots to node %s"
                                        .formatted(slots.max(), peer.hello().node())));
                    }
                }
                throw lost(peer);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new NodeUnreachableException("interrupted during a control request", e);
            } finally {
                lock.unlock();
            }
        }

        private int underWay(ControlKind.Slots slots) {
            int count = 0;
            for (Call call : bySlot) {
                count += call != null && call.slots == slots ? 1 : 0;
            }
            return count;
        }

        void giveBack(Call call) {
            lock.lock();
            try {
                if (bySlot[call.slot] == call) {
                    bySlot[call.slot] = null;
                    freed.signalAll(); // the waiters may need different slots
                }
            } finally {
                lock.unlock();
            }
        }

        void answered(int slot, long answered, int status, byte[] reply) {
            Call call;
            lock.lock();
            try {
                call = bySlot[slot];
            } finally {
                lock.unlock();
            }
            if (call == null || call.sequence != answered) {
                return;
            }
            giveBack(call);
            if (status == STATUS_OK) {
                call.reply.complete(reply);
            } else {
                call.reply.completeExceptionally(WireError.exception(status, reply, ""));
            }
        }

        private void fail(Call call) {
            try {
                call.reply.completeExceptionally(lostOrUndescribed());
            } catch (RuntimeException | Error e) { // the others end all the same
                Unrecoverable.report(e);
            }
        }

        /** Why a call fails, which nobody else ends. */
        private RuntimeException lostOrUndescribed() {
            try {
                return lost(peer);
            } catch (RuntimeException | Error e) {
                return Unrecoverable.undescribed(e);
            }
        }

        void failAll() {
            lock.lock();
            try {
                ended = true;
                freed.signalAll();
                for (Call call : bySlot) {
                    if (call != null) {
                        fail(call);
                    }
                }
            } finally {
                lock.unlock();
            }
        }
    }
}

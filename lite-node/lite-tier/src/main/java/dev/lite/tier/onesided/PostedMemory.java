package dev.lite.tier.onesided;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.session.async.PollingHelp;
import dev.lite.tier.Access;
import dev.lite.tier.Operation;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.ExtentRun;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.BusyPause;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.peer.Poster;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * {@link RemoteMemory} over a fabric's posts. Data passes through bounce buffers of {@value #BUFFER_BYTES} bytes in the
 * registered arena; {@link LongTransfer} uses several of them. A caller that gives up at its
 * deadline leaves its buffers to the driver; they return when their posts complete. So a late transfer never touches a
 * caller's memory.
 *
 * <p>Accesses that no thread waits for are those of {@link PendingAccesses}.
 *
 * <p>Bound: {@link #buffers} buffers; an operation that finds none free waits for one, up to its deadline.
 */
public final class PostedMemory implements RemoteMemory {
    /** Bytes of a bounce buffer. */
    public static final int BUFFER_BYTES = 64 << 10;

    /** The number of bounce buffers in a large arena. */
    public static final int BUFFERS_MAX = 64;

    private static final int BUFFERS_MIN = 32;
    /** {@link #BUFFERS_MAX} take one part in this many of the arena at most. */
    private static final int ARENA_PART = 16;

    private static final long LINK_PAUSE_NS = 20_000;

    private final PeerLinks links;
    private final BounceBuffers buffers;
    private final TransferCounts counts;
    private final PendingAccesses pending;
    private final Posts posts;

    /** Which lanes of a connection to post to. */
    @FunctionalInterface
    public interface Lanes {
        /** The connection, or a part of it; see {@link FabricEndpoint#onLanes}. Any thread; must not block. */
        FabricEndpoint of(FabricEndpoint connection);
    }

    /**
     * @param arena the registered arena of the node, which must outlive this object
     * @throws dev.lite.api.LimitExceededException if the arena has no room for the fewest buffers
     */
    public PostedMemory(PeerLinks links, NodeArena arena, ArenaAllocator allocator) {
        this.links = links;
        this.buffers = buffers(arena, allocator);
        this.counts = new TransferCounts();
        this.posts = new Posts(links, connection -> connection);
        this.pending = new PendingAccesses(buffers, counts, posts, this::repeat);
        links.onPostEnd(Poster.ONE_SIDED, this::postEnded);
    }

    private static BounceBuffers buffers(NodeArena arena, ArenaAllocator allocator) {
        boolean large = arena.size() / ARENA_PART >= (long) BUFFERS_MAX * BUFFER_BYTES;
        try {
            return buffers(arena, allocator, large ? BUFFERS_MAX : BUFFERS_MIN);
        } catch (LimitExceededException full) { // an adopted arena, whose former process had fewer
            return buffers(arena, allocator, BUFFERS_MIN);
        }
    }

    private static BounceBuffers buffers(NodeArena arena, ArenaAllocator allocator, int count) {
        ExtentRun run = allocator
                .allocate(ArenaAllocator.INTERNAL_LMR, (long) count * BUFFER_BYTES, 1, 1)
                .getFirst();
        return new BounceBuffers(arena.address() + run.offset(), count);
    }

    /** The number of bounce buffers. */
    public int buffers() {
        return buffers.all().length;
    }

    /**
     * After the end of all connections: waits until no thread copies from or to a buffer, and lets none take one again. Then the arena may
     * be unmapped.
     *
     * @return false if a thread still uses one at the deadline
     */
    public boolean close(Deadline deadline) {
        return buffers.takeAll(deadline);
    }

    private PostedMemory(PostedMemory whole, Lanes lanes) {
        this.links = whole.links;
        this.buffers = whole.buffers;
        this.counts = whole.counts;
        this.pending = whole.pending;
        this.posts = new Posts(links, lanes);
    }

    /** The same memory, with the same buffers, over some lanes of each connection. */
    public PostedMemory onLanes(Lanes some) {
        return new PostedMemory(this, some);
    }

    @Override
    public void read(
            int node, UUID arena, long offset, MemorySegment local, long localOffset, long length, Deadline deadline) {
        transfer(node, arena, offset, local, localOffset, length, Operation.READ, null, deadline);
    }

    /** {@link #read(int, UUID, long, MemorySegment, long, long, Deadline)}, but over this connection only: throws when it is lost. */
    public void read(Peer peer, long offset, MemorySegment local, long length, Deadline deadline) {
        transfer(peer, offset, local, 0, length, Operation.READ, deadline);
    }

    @Override
    public void write(
            int node,
            UUID arena,
            long offset,
            MemorySegment local,
            long localOffset,
            long length,
            @Nullable Supplier<@Nullable String> notWanted,
            Deadline deadline) {
        transfer(node, arena, offset, local, localOffset, length, Operation.WRITE, notWanted, deadline);
    }

    @Override
    public boolean tryStart(
            int node,
            UUID arena,
            Access access,
            Deadline deadline,
            boolean soon,
            Consumer<@Nullable RuntimeException> ended) {
        Peer peer = links.peer(node);
        return peer != null
                && isOwner(peer, arena)
                && pending.tryStart(posts, peer, arena, access, deadline, soon, ended);
    }

    @Override
    public boolean mayWait(int node) {
        return links.peer(node) == null || !buffers.hasFree();
    }

    @Override
    public PollingHelp polling() {
        return pending.polling();
    }

    @Override
    public long fetchAdd(int node, UUID arena, long offset, long delta, Deadline deadline) {
        return atomic(node, arena, offset, Operation.FETCH_ADD, delta, 0, deadline);
    }

    @Override
    public long testSet(int node, UUID arena, long offset, long expected, long value, Deadline deadline) {
        return atomic(node, arena, offset, Operation.COMPARE_AND_SWAP, expected, value, deadline);
    }

    /** Continues a transfer after its connection to a former peer broke. Blocks. */
    private void repeat(Peer former, UUID arena, Access access, Deadline deadline) {
        LmrUnavailableException broken = posts.lost(former, access.operation());
        transfer(
                next(former, arena, access.operation(), broken, null, deadline),
                arena,
                access.offset(),
                access.local(),
                0,
                access.length(),
                access.operation(),
                null,
                deadline);
    }

    private void transfer(
            int node,
            UUID arena,
            long offset,
            MemorySegment local,
            long localOffset,
            long length,
            Operation operation,
            @Nullable Supplier<@Nullable String> notWanted,
            Deadline deadline) {
        Peer first = awaitPeer(node, arena, notWanted, deadline);
        transfer(first, arena, offset, local, localOffset, length, operation, notWanted, deadline);
    }

    /** Continues on the next connection if one breaks. */
    private void transfer(
            Peer first,
            UUID arena,
            long offset,
            MemorySegment local,
            long localOffset,
            long length,
            Operation operation,
            @Nullable Supplier<@Nullable String> notWanted,
            Deadline deadline) {
        Peer peer = first;
        while (true) {
            try {
                transfer(peer, offset, local, localOffset, length, operation, deadline);
                return;
            } catch (LmrUnavailableException e) {
                peer = next(peer, arena, operation, e, notWanted, deadline);
            }
        }
    }

    /**
     * The connection on which to repeat an operation after its connection broke. A read is always repeated. A write is
     * repeated only to a new process: the old process may still have the write in flight, and a late write must not
     * land after a later one.
     */
    private Peer next(
            Peer former,
            UUID arena,
            Operation operation,
            LmrUnavailableException broken,
            @Nullable Supplier<@Nullable String> notWanted,
            Deadline deadline) {
        while (links.peer(former.id()) == former) { // the links will soon report its end
            if (deadline.passed() || Thread.currentThread().isInterrupted()) {
                throw broken;
            }
            Polling.sleepNs(LINK_PAUSE_NS);
        }
        Peer peer;
        try {
            peer = awaitPeer(former.id(), arena, notWanted, deadline);
        } catch (NodeUnreachableException e) {
            throw broken;
        }
        if (operation == Operation.WRITE
                && peer.hello().instance() == former.hello().instance()) {
            throw broken;
        }
        counts.countRepeated();
        return peer;
    }

    private void transfer(
            Peer peer,
            long offset,
            MemorySegment local,
            long localOffset,
            long length,
            Operation operation,
            Deadline deadline) {
        counts.count(peer.fabric(), operation, length);
        if (length > 0 && length <= BUFFER_BYTES) {
            transferPiece(peer, offset, local, localOffset, length, operation, deadline);
            return;
        }
        new LongTransfer(this, buffers, peer, operation, offset, local, localOffset, length, deadline).run();
    }

    /** Transfers bytes that fit into one buffer; allocates nothing. */
    private void transferPiece(
            Peer peer,
            long offset,
            MemorySegment local,
            long localOffset,
            long length,
            Operation operation,
            Deadline deadline) {
        BounceBuffer buffer = buffers.take(operation, peer.hello().node(), deadline);
        try {
            if (operation == Operation.WRITE) {
                RawMemory.copyFrom(local, localOffset, buffer.address, length);
            }
            postAndAwait(peer, buffer, operation, offset, length, 0, 0, deadline);
            if (operation == Operation.READ) {
                RawMemory.copyTo(buffer.address, local, localOffset, length);
            }
        } finally {
            buffers.abandon(buffer);
        }
    }

    /** The transfers since the start of the node, by fabric. */
    public Map<String, Map<Kind, Count>> transfers() {
        return counts.sums();
    }

    /** How many of them were repeated after the loss of a connection. */
    public long repeatedTransfers() {
        return counts.repeated();
    }

    @Override
    public boolean awaitGivenUp(Deadline deadline) {
        return buffers.awaitGivenUp(deadline);
    }

    private Peer awaitPeer(int node, UUID arena, @Nullable Supplier<@Nullable String> notWanted, Deadline deadline) {
        Peer peer = links.awaitOwner(node, notWanted, deadline);
        if (!isOwner(peer, arena)) {
            throw new LmrUnavailableException("node %s restarted with a new arena; its old data is lost"
                    .formatted(peer.hello().node()));
        }
        return peer;
    }

    private static boolean isOwner(Peer peer, UUID arena) {
        return peer.hello().arenaId().equals(arena);
    }

    private long atomic(
            int node, UUID arena, long offset, Operation operation, long first, long second, Deadline deadline) {
        Peer peer = awaitPeer(node, arena, null, deadline);
        counts.count(peer.fabric(), operation, Long.BYTES);
        BounceBuffer buffer = buffers.take(operation, peer.hello().node(), deadline);
        try {
            postAndAwait(peer, buffer, operation, offset, Long.BYTES, first, second, deadline);
            return RawMemory.getLong(buffer.address);
        } finally {
            buffers.abandon(buffer);
        }
    }

    /** Takes the poll role before the post, if it is free: then even a fast completion wakes no other thread. */
    private void postAndAwait(
            Peer peer,
            BounceBuffer buffer,
            Operation operation,
            long offset,
            long length,
            long first,
            long second,
            Deadline deadline) {
        boolean held = peer.pollRole().take();
        held = post(peer, buffer, operation, offset, length, first, second, deadline, held);
        await(buffer, peer, operation, deadline, held);
    }

    /**
     * Posts, and retries while the connection is busy.
     *
     * @param held whether the caller has the poll role; this method releases it before it throws
     * @return whether the caller still has the poll role
     */
    boolean post(
            Peer peer,
            BounceBuffer buffer,
            Operation operation,
            long offset,
            long length,
            long first,
            long second,
            Deadline deadline,
            boolean held) {
        boolean has = held;
        try {
            for (BusyPause busy = new BusyPause(); ; busy.pause()) {
                Post post = posts.tryPost(peer, buffer, operation, offset, length, first, second, false);
                if (post == Post.ACCEPTED || post == Post.DONE) {
                    boolean kept = has;
                    has = false;
                    return kept;
                }
                if (post == Post.CLOSED) {
                    throw posts.lost(peer, operation);
                }
                if (has) {
                    has = false;
                    peer.pollRole().release(); // this thread waits without polling, so let another thread poll
                }
                if (deadline.passed()) {
                    throw Posts.late(peer, operation, deadline);
                }
                if (Thread.currentThread().isInterrupted()) {
                    throw interrupted(peer, operation);
                }
            }
        } finally {
            if (has) {
                peer.pollRole().release();
            }
        }
    }

    /** @param held whether the caller has the poll role; this method releases it */
    void await(BounceBuffer buffer, Peer peer, Operation operation, Deadline deadline, boolean held) {
        if (!peer.pollRole().await(buffer, deadline.endNs(), held)) {
            if (Thread.currentThread().isInterrupted()) {
                throw interrupted(peer, operation);
            }
            throw Posts.late(peer, operation, deadline);
        }
        if (buffer.state.get() != BounceBuffer.DONE) {
            throw posts.lost(peer, operation);
        }
    }

    private static LmrUnavailableException interrupted(Peer peer, Operation operation) {
        return new LmrUnavailableException("interrupted in a %s of memory on node %s"
                .formatted(operation, peer.hello().node()));
    }

    private void postEnded(long context, @Nullable FabricError error) {
        BounceBuffer buffer = buffers.of(context);
        if (buffer == null) {
            return; // not a post of this object
        }
        // Read this before end(): after end(), the waiting owner may release the buffer to another
        // operation, and this completion does not belong to that one.
        PendingAccess access = buffer.pending;
        if (buffer.end(error == null ? BounceBuffer.DONE : BounceBuffer.FAILED)) {
            buffers.release(buffer); // its caller gave up
        } else if (access != null) {
            pending.finish(buffer, access);
        } else {
            buffer.signal();
        }
    }
}

package dev.lite.tier.lmr;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.RemoteWork.Part;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.BulkTurns;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Work of {@code LT_memset} and {@code LT_memcpy} on this node's memory, for this and other nodes. Any thread; blocks.
 *
 * <p>When the request arrives, its caller may have given up, and the memory may belong to another LMR. So each piece of
 * work checks that its ranges lie in extents of their LMR. Nobody frees those extents while it runs: work takes its
 * LMR's lock shared, {@link #exclusively freeing} takes it exclusively. Other LMRs do not wait for it.
 *
 * <p>No work begun under one registration of this node runs under the next: others may have given its target to another LMR
 * meanwhile. {@link #quiesceAll} waits for its end before the node registers again, and the connections are cut by then, so
 * nothing that waits for one waits long. Work of this node itself names the registration under which it was asked for.
 */
final class LocalWork {
    /** The owner of the work's turns: requests between nodes do not name a principal. */
    private static final String NODE = "";

    /** A node that lost its session with the directory registers again sooner. */
    private static final long LEFT_NS = 2_000_000_000;

    private static final Duration GIVEN_UP_STEP = Duration.ofSeconds(1);

    private final NodeArena arena;
    private final ArenaAllocator allocator;
    private final PeerLinks links;
    private final RemoteMemory remoteMemory;
    private final int self;
    private final LongSupplier registration;
    private final WorkLocks locks = new WorkLocks();

    /** The control channel's slots and this node's own moves bound its size. */
    private final Set<Running> running = ConcurrentHashMap.newKeySet();

    private record Running(int caller, CountDownLatch ended) {}

    /** @param registration the incarnation under which this node is registered now, or was last */
    LocalWork(
            int self,
            NodeArena arena,
            ArenaAllocator allocator,
            PeerLinks links,
            RemoteMemory remoteMemory,
            LongSupplier registration) {
        this.self = self;
        this.registration = registration;
        this.arena = arena;
        this.allocator = allocator;
        this.links = links;
        this.remoteMemory = remoteMemory;
    }

    /** Runs the freeing of an LMR's extents while no work on them runs. */
    void exclusively(long lmrId, Runnable freeing) {
        locks.exclusively(lmrId, freeing);
    }

    /** @param caller the connection of the request, which another node made */
    void memset(Peer caller, long lmrId, List<Run> runs, byte value) {
        asWorkOf(caller, () -> memset(lmrId, runs, value));
    }

    /** Inside of {@link #asOwn}, or for another node. */
    void memset(long lmrId, List<Run> runs, byte value) {
        locks.shared(lmrId, () -> {
            runs.forEach(run -> check(lmrId, run.entry(), run.offset(), run.length()));
            runs.forEach(run -> inPieces(
                    run.length(), (at, bytes) -> RawMemory.fill(arena.address() + run.offset() + at, bytes, value)));
        });
    }

    /** @param caller the connection of the request, which another node made */
    void copy(Peer caller, Part source, Part target, long length, Deadline deadline) {
        copy(caller, source, target, length, () -> null, deadline);
    }

    private void copy(
            Peer caller, Part source, Part target, long length, Supplier<@Nullable String> notYet, Deadline deadline) {
        asWorkOf(
                caller,
                () -> copy(
                        source,
                        target,
                        length,
                        () -> links.peer(caller.id()) == caller ? notYet.get() : gone(caller),
                        deadline));
    }

    /**
     * Copies for a caller that waits for the target itself, so that its request does not take a slot of the connection meanwhile.
     *
     * @param caller the connection of the request, which another node made
     * @return false if the target is out of the cluster, but may return; then no work runs. A copy within one LMR fails instead
     */
    boolean copyUnlessAway(Peer caller, Part source, Part target, long length, Deadline deadline) {
        if (source.lmrId() == target.lmrId()) {
            copy(caller, source, target, length, deadline);
            return true;
        }
        if (links.mayReturn(target.node())) {
            return false;
        }
        try {
            copy(
                    caller,
                    source,
                    target,
                    length,
                    () -> links.mayReturn(target.node()) ? "the caller waits for the target" : null,
                    deadline);
            return true;
        } catch (LmrUnavailableException e) {
            if (links.mayReturn(target.node())) {
                return false;
            }
            throw e;
        }
    }

    /**
     * Waits for a connection to the target of a copy that another node could not make yet, while the copy is wanted.
     *
     * @param asked the registration under which the copy was asked for
     * @throws LiteException if the copy cannot be made any more
     */
    void awaitTarget(long asked, int node, Deadline deadline) {
        Peer unused = links.awaitOwner(node, () -> isOf(asked) ? null : lost(asked), deadline);
    }

    /**
     * Copies as {@link #asOwn own} work.
     *
     * @param asked the registration under which it was asked for
     */
    void copyAsOwn(long asked, Part source, Part target, long length, Deadline deadline) {
        asOwn(asked, () -> copy(source, target, length, () -> isOf(asked) ? null : lost(asked), deadline));
    }

    /**
     * Waits for a connection to the target only while its caller can still use the copy: the epoch that removes the caller waits for
     * this work. A copy within one LMR, as a move makes it, ends soon if its target leaves, because operations on the LMR wait for the
     * move. Others wait for a node that may return, as all operations on its memory do; or their caller does.
     *
     * @param notWanted why the caller cannot use it any more, or null
     */
    private void copy(Part source, Part target, long length, Supplier<@Nullable String> notWanted, Deadline deadline) {
        if (target.node() == self && !target.arena().equals(arena.id())) {
            throw new LmrFreedException("LMR %d was in a former arena of this node".formatted(target.lmrId()));
        }
        locks.shared(source.lmrId(), target.lmrId(), () -> {
            check(source.lmrId(), source.entry(), source.offset(), length);
            copyChecked(source, target, length, () -> whyNot(notWanted, source, target), deadline);
        });
    }

    private @Nullable String whyNot(Supplier<@Nullable String> notWanted, Part source, Part target) {
        String why = notWanted.get();
        if (why == null && source.lmrId() == target.lmrId() && links.isAwayFor(target.node(), LEFT_NS)) {
            return "node %s left the cluster".formatted(links.nameOf(target.node()));
        }
        return why;
    }

    private void copyChecked(
            Part source, Part target, long length, Supplier<@Nullable String> notWanted, Deadline deadline) {
        long from = arena.address() + source.offset();
        if (target.node() == self) {
            check(target.lmrId(), target.entry(), target.offset(), length);
            copyMapped(from, arena.address() + target.offset(), length);
            return;
        }
        Peer peer = links.awaitOwner(target.node(), notWanted, deadline);
        FabricEndpoint endpoint = peer.endpoint();
        if (endpoint.mappedAddress() != 0 && peer.hello().arenaId().equals(target.arena())) {
            copyMapped(from, endpoint.mappedAddress() + target.offset(), length);
            return;
        }
        try {
            remoteMemory.write(
                    target.node(), target.arena(), target.offset(), RawMemory.all(), from, length, notWanted, deadline);
        } catch (LiteException e) {
            // This answer means the end of the work, so wait for every post. Each ends at the latest with its
            // connection.
            while (!remoteMemory.awaitGivenUp(Deadline.in(GIVEN_UP_STEP))) {
                Thread.onSpinWait();
            }
            throw e;
        }
    }

    private void copyMapped(long from, long to, long length) {
        if (Math.abs(from - to) < length) { // it is safe as a whole only
            BulkTurns.take(NODE, () -> RawMemory.copy(from, to, length));
        } else {
            inPieces(length, (at, bytes) -> RawMemory.copy(from + at, to + at, bytes));
        }
    }

    private static void inPieces(long length, Piece piece) {
        for (long done = 0; done < length; done += BulkTurns.PIECE_BYTES) {
            long at = done;
            long bytes = Math.min(BulkTurns.PIECE_BYTES, length - done);
            BulkTurns.take(NODE, () -> piece.run(at, bytes));
        }
    }

    private interface Piece {
        void run(long at, long bytes);
    }

    private void check(long lmrId, int entry, long offset, long length) {
        if (!allocator.holds(lmrId, entry, offset, length)) {
            throw new LmrFreedException(
                    "LMR %d no longer has %d bytes at offset %d of this node's arena".formatted(lmrId, length, offset));
        }
    }

    /** Work of a former connection must not begin: over the next one, the caller learned that none runs. */
    private void asWorkOf(Peer caller, Runnable work) {
        running(caller.id(), work, () -> {
            if (links.peer(caller.id()) != caller) {
                throw new NodeUnreachableException(gone(caller));
            }
        });
    }

    private static String gone(Peer caller) {
        return "the connection with node %s is gone".formatted(caller.hello().node());
    }

    /**
     * Runs work, or its request to another node, that this node wants itself.
     *
     * @param asked the registration under which it was asked for
     */
    void asOwn(long asked, Runnable work) {
        running(self, work, () -> {
            if (!isOf(asked)) {
                throw new NodeUnreachableException(lost(asked));
            }
        });
    }

    private boolean isOf(long asked) {
        return !links.isSuspended() && registration.getAsLong() == asked;
    }

    private String lost(long asked) {
        return "node %s was registered as incarnation %d; that registration is lost"
                .formatted(links.nameOf(self), asked);
    }

    /**
     * @param check throws if the work must not begin. It runs after the work is listed: a thread that forbids such work,
     *     and then reads the list, sees all work that was still permitted
     */
    private void running(int caller, Runnable work, Runnable check) {
        Running entry = new Running(caller, new CountDownLatch(1));
        running.add(entry);
        try {
            check.run();
            work.run();
        } finally {
            running.remove(entry);
            entry.ended().countDown();
        }
    }

    /** Waits for all work that a node has requested so far. Its connection is cut, or this is its request: none begins later. */
    void quiesce(int caller, Deadline deadline) {
        for (Running entry : running) {
            if (entry.caller() == caller) {
                awaitEnd(entry, deadline);
            }
        }
    }

    /**
     * Waits for all work so far, also this node's own. If the registration is lost and the links are suspended, none begins later.
     * Later work does not use the connections that have ended before.
     */
    void quiesceAll(Deadline deadline) {
        running.forEach(entry -> awaitEnd(entry, deadline));
    }

    private void awaitEnd(Running entry, Deadline deadline) {
        try {
            if (!entry.ended().await(deadline.remainingNs(), TimeUnit.NANOSECONDS)) {
                throw new LiteTimeoutException(deadline.expired(
                        "waiting for the end of work for node %s".formatted(links.nameOf(entry.caller()))));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LmrFreedException("interrupted while waiting for the end of work", e);
        }
    }
}

package dev.lite.tier.node;

import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.tier.lmr.LmrServices;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.onesided.PostedMemory;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.rpc.RpcEngine;
import dev.lite.tier.sync.SyncService;
import dev.lite.tier.sync.SyncStats;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.IntSupplier;

/** A node in numbers, for health and metrics. Any thread. */
public final class NodeFigures {
    private final NodeArena arena;
    private final ArenaAllocator allocator;
    private final LmrServices lmrs;
    private final IntSupplier sessions;
    private final RpcEngine rpc;
    private final PostedMemory posted;
    private final PeerLinks links;
    private final SyncService sync;

    NodeFigures(
            NodeArena arena,
            ArenaAllocator allocator,
            LmrServices lmrs,
            IntSupplier sessions,
            RpcEngine rpc,
            PostedMemory posted,
            PeerLinks links,
            SyncService sync) {
        this.arena = arena;
        this.allocator = allocator;
        this.lmrs = lmrs;
        this.sessions = sessions;
        this.rpc = rpc;
        this.posted = posted;
        this.links = links;
        this.sync = sync;
    }

    /** The use of the arena. */
    public Usage usage() {
        return new Usage(
                arena.size(),
                allocator.allocatedBytes(),
                allocator.freeBytes(),
                allocator.uncleanBytes(),
                allocator.allocatedExtents(),
                lmrs.mappings().lmrs(),
                lmrs.mappings().size(),
                sessions.getAsInt(),
                lmrs.reclaimer().waiting());
    }

    /**
     * A node's memory in numbers.
     *
     * @param arenaBytes bytes of the whole arena
     * @param allocatedBytes bytes of LMRs
     * @param freeBytes free bytes, clean or not
     * @param uncleanBytes free bytes that are not clean yet
     * @param extents of LMRs; the words of locks and barriers share some
     * @param mappedLmrs LMRs with a handle at this node
     * @param handles of all sessions
     * @param sessions open sessions
     * @param reclaiming LMRs whose memory is not freed yet
     */
    public record Usage(
            long arenaBytes,
            long allocatedBytes,
            long freeBytes,
            long uncleanBytes,
            int extents,
            int mappedLmrs,
            int handles,
            int sessions,
            int reclaiming) {}

    /** Bytes of LMRs in the node's arena, without internal memory of the process. Scans the whole arena. */
    public long lmrBytes() {
        long[] bytes = new long[1];
        allocator.forEachExtent((id, run) -> bytes[0] += run.length());
        return bytes[0];
    }

    /** Bytes of the arena that RPC uses now. */
    public long rpcMemoryBytes() {
        return rpc.memoryBytes();
    }

    /** Calls at the node that no server has received yet. */
    public int queuedCalls() {
        return rpc.queuedCalls();
    }

    /** Transfers to and from other nodes since the start, by fabric and kind. */
    public Map<String, Map<Kind, Count>> transfers() {
        return posted.transfers();
    }

    Map<Kind, Count> allTransfers() {
        Map<Kind, Count> sums = new EnumMap<>(Kind.class);
        transfers().values().forEach(counts -> counts.forEach((kind, count) -> sums.merge(kind, count, Count::plus)));
        return sums;
    }

    /** How many transfers were repeated after the loss of a connection. */
    public long repeatedTransfers() {
        return posted.repeatedTransfers();
    }

    /** How often a standby poll thread woke up because no caller polled. */
    public long standbyWakeups() {
        return links.standbyWakeups();
    }

    /** The locks whose home is the node and that have waiters, by id: how many wait. Waiters that still spin are missing. */
    public Map<Long, Integer> lockWaiters() {
        return sync.waiting();
    }

    /** Statistics of contended locks. */
    public SyncStats syncStats() {
        return sync.stats();
    }
}

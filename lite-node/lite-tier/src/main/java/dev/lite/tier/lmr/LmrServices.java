package dev.lite.tier.lmr;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.NodeRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.RemoteWork;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.Fencing;
import dev.lite.tier.peer.PeerLinks;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.function.LongConsumer;

/**
 * Creates and wires the parts of a node that create, map, change and free LMRs. When the constructor returns, all parts
 * exist and have registered their handlers with the control channel. Any thread.
 */
public final class LmrServices {
    private final RemoteMemory remoteMemory;
    private final LmrRecords records;
    private final LmrPlaces places;
    private final MappingTable mappings;
    private final DrainMarks drainMarks = new DrainMarks();
    private final Mappers mappers;
    private final LmrCalls calls;
    private final LocalWork localWork;
    private final WorkCalls work;
    private final PrincipalBytes bytes;
    private final NodeExtents extents;
    private final Reclaimer reclaimer;
    private final ShareAllocation allocation;
    private final UnfinishedMoves unfinishedMoves;
    private final Moves moves;
    private final MasterOperations masterOperations;
    private final MappingChanges changes;
    private final LostMemories lostMemories;
    private final NamedLmrs named;
    private final Takeover takeover;
    private final MemoryService memory;

    /**
     * @param self this node's registration
     * @param cluster the cluster's name, for messages
     * @param lmrBytesMax the largest LMR, in bytes
     * @param bytesPerPrincipal the maximum bytes of this node's arena per principal
     * @param deadline the default deadline of an operation
     * @param memoryGiven gets an LMR's id before this node allocates memory for it for another node; must not block
     * @param executor of virtual threads
     */
    public LmrServices(
            NodeRecord self,
            String cluster,
            long lmrBytesMax,
            long bytesPerPrincipal,
            Duration deadline,
            NodeArena arena,
            ArenaAllocator allocator,
            ClusterDirectory directory,
            PeerLinks links,
            Fencing fencing,
            RemoteMemory remoteMemory,
            ControlChannel channel,
            LongConsumer memoryGiven,
            Executor executor) {
        this.remoteMemory = remoteMemory;
        mappings = new MappingTable(fencing::isLost);
        records = new LmrRecords(self, directory);
        places = new LmrPlaces(self.id(), arena, links);
        calls = new LmrCalls(channel);
        mappers = new Mappers(self.id(), links, records, calls, fencing, executor);
        localWork = new LocalWork(self.id(), arena, allocator, links, remoteMemory, mappers::ownIncarnation);
        work = new WorkCalls(self.id(), channel, mappers, localWork, executor);
        bytes = new PrincipalBytes(self.name(), allocator, bytesPerPrincipal);
        extents = new NodeExtents(self, arena.id(), allocator, bytes, localWork, drainMarks, channel, memoryGiven);
        reclaimer = new Reclaimer(self.id(), records, mappers, links, calls, extents, executor);
        allocation = new ShareAllocation(self, cluster, arena, directory, links, extents, reclaimer, drainMarks);
        unfinishedMoves = new UnfinishedMoves(self, records, mappers, work, reclaimer, executor);
        moves = new Moves(
                self,
                directory,
                records,
                mappers,
                unfinishedMoves,
                new MoveCopier(work, places, executor),
                allocation,
                reclaimer);
        masterOperations = new MasterOperations(records, mappers, unfinishedMoves, moves, calls, reclaimer);
        changes = new MappingChanges(
                self.name(), mappings, fencing, remoteMemory, records, calls, unfinishedMoves, places, deadline);
        lostMemories = new LostMemories(links, changes, localWork);
        named = new NamedLmrs(directory, records, executor);
        takeover = new Takeover(self.id(), directory, named, unfinishedMoves, reclaimer, executor);
        memory = new MemoryService(
                self.id(),
                lmrBytesMax,
                directory,
                records,
                places,
                mappings,
                mappers,
                unfinishedMoves,
                calls,
                allocation,
                reclaimer);
        calls.serveRecords(records);
        calls.serveMappings(changes);
        links.addListener(changes);
    }

    /** Starts the reclamation, and the unmapping of lost memories, in the background. */
    public void start() {
        reclaimer.start();
        lostMemories.start();
    }

    /** Access to memory of other nodes. */
    public RemoteMemory remoteMemory() {
        return remoteMemory;
    }

    /** Work by other nodes on their memory. */
    public RemoteWork remoteWork() {
        return work;
    }

    /** Malloc and map. */
    public MemoryService memory() {
        return memory;
    }

    /** Free, grant and move by a handle. */
    public MasterOperations masterOperations() {
        return masterOperations;
    }

    /** Every mapping of this node. */
    public MappingTable mappings() {
        return mappings;
    }

    /** Changes of this node's mappings. */
    public MappingChanges changes() {
        return changes;
    }

    /** The records of LMRs. */
    public LmrRecords records() {
        return records;
    }

    /** The places of chunks. */
    public LmrPlaces places() {
        return places;
    }

    /** Calls to other nodes about LMRs. */
    public LmrCalls calls() {
        return calls;
    }

    /** The moves of LMRs. */
    public Moves moves() {
        return moves;
    }

    /** The moves that have begun and not ended. */
    public UnfinishedMoves unfinishedMoves() {
        return unfinishedMoves;
    }

    /** The nodes that may have an LMR mapped. */
    public Mappers mappers() {
        return mappers;
    }

    /** Scans of the directory. */
    public NamedLmrs named() {
        return named;
    }

    /** Extents in the arenas of the nodes. */
    public NodeExtents extents() {
        return extents;
    }

    /** Allocation by placement. */
    public ShareAllocation allocation() {
        return allocation;
    }

    /** The bytes of each principal in this arena. */
    public PrincipalBytes bytes() {
        return bytes;
    }

    /** The reclamation of memory. */
    public Reclaimer reclaimer() {
        return reclaimer;
    }

    /** The nodes that are being drained. */
    public DrainMarks drainMarks() {
        return drainMarks;
    }

    /** Waits for all memset and copy work that a node has requested so far. */
    public void quiesce(int node, Deadline deadline) {
        localWork.quiesce(node, deadline);
    }

    /** Waits for all memset and copy work. The registration is lost and the links are suspended, so that none begins. */
    public void quiesceAll(Deadline deadline) {
        localWork.quiesceAll(deadline);
    }

    /**
     * Ends the anonymous LMRs whose memory at other nodes is lost, after this node was fenced and has registered
     * again.
     *
     * @param incarnation the last one under which this node used them
     * @throws dev.lite.api.ClusterUnavailableException if the directory does not answer; call it again then
     */
    public void loseGivenUp(long incarnation, Deadline deadline) {
        for (LmrRecord lmr : records.loseGivenUp(incarnation, deadline)) {
            changes.lose(lmr.id());
            reclaimer.reclaimLater(null, lmr);
        }
    }

    /** Continues the unfinished work of newly fenced nodes. Does not block. */
    public void takeOver() {
        takeover.begin();
    }

    /** Waits up to the deadline until connected nodes have their memory back, then stops the reclamation. */
    public void close(Deadline deadline) {
        lostMemories.close();
        reclaimer.drain(deadline);
        reclaimer.close();
    }
}

package dev.lite.tier.lmr;

import dev.lite.api.LimitExceededException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.cluster.NodeRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.control.ControlKind;
import dev.lite.tier.control.ControlMessage;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.ExtentRun;
import java.util.List;
import java.util.UUID;
import java.util.function.LongConsumer;

/**
 * Allocates and frees extents in the nodes' arenas and queries the use of the arenas, at this node and at others. Any
 * thread; blocks up to the deadline.
 */
public final class NodeExtents {
    private final NodeRecord self;
    private final UUID arena;
    private final ArenaAllocator allocator;
    private final PrincipalBytes bytes;
    private final LocalWork work;
    private final DrainMarks drainMarks;
    private final ControlChannel channel;

    /**
     * The use of a node's arena.
     *
     * @param dataBytes the capacity of its arena
     * @param freeBytes free bytes; 0 if the node takes no new memory
     */
    public record Room(long dataBytes, long freeBytes) {
        /** The bytes in use. */
        public long usedBytes() {
            return dataBytes - freeBytes;
        }
    }

    /**
     * Registers the handlers with the channel.
     *
     * @param arena the id of this node's arena
     * @param givenToOther gets an LMR's id before this node allocates memory for it for another node; must not block
     */
    NodeExtents(
            NodeRecord self,
            UUID arena,
            ArenaAllocator allocator,
            PrincipalBytes bytes,
            LocalWork work,
            DrainMarks drainMarks,
            ControlChannel channel,
            LongConsumer givenToOther) {
        this.self = self;
        this.arena = arena;
        this.allocator = allocator;
        this.bytes = bytes;
        this.work = work;
        this.drainMarks = drainMarks;
        this.channel = channel;
        channel.serve(ControlKind.ALLOCATE_EXTENTS, (node, request, reply) -> {
            long lmrId = request.getLong();
            long chunkBytes = request.getLong();
            long count = request.getLong();
            boolean limited = request.getByte() != 0;
            PrincipalBytes.Charge charge = new PrincipalBytes.Charge(request.getName("the principal"), limited);
            givenToOther.accept(lmrId);
            reply.putRuns(allocateHere(lmrId, chunkBytes, count, charge));
        });
        channel.serve(ControlKind.FREE_EXTENTS, (node, request, reply) -> {
            long lmrId = request.getLong();
            List<Run> runs = request.getRuns();
            // Nodes of a former version do not say which arena they mean.
            freeIfIn(request.remaining() == 0 ? arena : request.getUuid(), lmrId, runs);
        });
        channel.serve(ControlKind.ARENA_ROOM, (node, request, reply) -> {
            Room room = roomHere();
            reply.putLong(room.dataBytes()).putLong(room.freeBytes());
        });
    }

    /**
     * Allocates chunks for an LMR; fewer than requested if they need too many runs for one message. Internal memory of
     * the length of a word is a word and shares its extent with others ({@link ArenaAllocator#allocateWord}).
     */
    List<Run> allocate(
            int node, long lmrId, long chunkBytes, long count, PrincipalBytes.Charge charge, Deadline deadline) {
        if (node == self.id()) {
            return allocateHere(lmrId, chunkBytes, count, charge);
        }
        ControlMessage request = new ControlMessage()
                .putLong(lmrId)
                .putLong(chunkBytes)
                .putLong(count)
                .putByte(charge.limited() ? 1 : 0)
                .putName("the principal", charge.principal());
        return channel.call(node, ControlKind.ALLOCATE_EXTENTS, request, deadline)
                .getRuns();
    }

    private List<Run> allocateHere(long lmrId, long chunkBytes, long count, PrincipalBytes.Charge charge) {
        if (chunkBytes <= 0 || count <= 0 || count > allocator.dataBytes() / chunkBytes) {
            // At least: an LMR's last chunk is a request of its own.
            throw new LimitExceededException("node %s: its share is at least %d bytes; its arena has %d bytes"
                    .formatted(self.name(), count * chunkBytes, allocator.dataBytes()));
        }
        if (drainMarks.isClosed()) {
            throw drained();
        }
        boolean isWord = charge.isOfTier() && chunkBytes == ArenaAllocator.WORD_BYTES && count == 1;
        List<ExtentRun> runs = isWord
                ? List.of(allocator.allocateWord(lmrId))
                : bytes.allocate(lmrId, charge, chunkBytes, count, ControlMessage.RUNS_MAX);
        if (drainMarks.isClosed()) { // since then: the drain may have found the arena empty already
            runs.forEach(run -> bytes.free(lmrId, run));
            throw drained();
        }
        return runs.stream()
                .map(run -> new Run(run.offset(), run.length(), run.entry()))
                .toList();
    }

    private NodeUnreachableException drained() {
        return new NodeUnreachableException("node %s is being drained: it takes no new memory".formatted(self.name()));
    }

    /**
     * Frees a share of an LMR; ignores extents that are free already. Does nothing if the node has another
     * arena now: the LMR may have returned there, and in a new arena the names of extents begin again.
     */
    void free(long lmrId, Share share, Deadline deadline) {
        int node = share.node();
        List<Run> runs = share.runs();
        if (node == self.id()) {
            freeIfIn(share.arena(), lmrId, runs);
            return;
        }
        for (int from = 0; from < runs.size(); from += ControlMessage.RUNS_MAX) {
            List<Run> some = runs.subList(from, Math.min(runs.size(), from + ControlMessage.RUNS_MAX));
            channel.call(
                    node,
                    ControlKind.FREE_EXTENTS,
                    new ControlMessage().putLong(lmrId).putRuns(some).putUuid(share.arena()),
                    deadline);
        }
    }

    private void freeIfIn(UUID meant, long lmrId, List<Run> runs) {
        if (meant.equals(arena)) {
            freeHere(lmrId, runs);
        }
    }

    /** Frees extents of an LMR in this node's arena; ignores extents that are free already. */
    public void freeHere(long lmrId, List<Run> runs) {
        work.exclusively(lmrId, () -> {
            for (Run run : runs) {
                bytes.free(lmrId, new ExtentRun(run.offset(), run.length(), run.entry()));
            }
        });
    }

    /** Queries the use of a node's arena. */
    public Room room(int node, Deadline deadline) {
        if (node == self.id()) {
            return roomHere();
        }
        ControlMessage reply = channel.call(node, ControlKind.ARENA_ROOM, new ControlMessage(), deadline);
        return new Room(reply.getLong(), reply.getLong());
    }

    private Room roomHere() {
        return new Room(allocator.dataBytes(), drainMarks.isClosed() ? 0 : allocator.freeBytes());
    }
}

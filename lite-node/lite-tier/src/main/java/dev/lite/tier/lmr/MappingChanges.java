package dev.lite.tier.lmr;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.cluster.LmrRecord;
import dev.lite.fabric.AddressRange;
import dev.lite.os.waiting.Counts;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.peer.Fencing;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerListener;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Applies changes to this node's mappings: a change of an LMR's record, of this node's registration or of a peer's
 * arena, or the end of the owner. A change is complete when no operation of the mapping uses the former state. Every
 * method returns then, or fails at its deadline (architecture §6, step 2).
 *
 * <p>Any thread may call any method.
 */
public final class MappingChanges implements PeerListener {
    private static final Logger log = LoggerFactory.getLogger(MappingChanges.class);

    /** Nodes do not tell one another which of them it was. */
    private static final String FREED = "the LMR was freed by a master, or because its creator ended";

    /** Serializes the refreshes of one LMR, so that an older record never follows a newer one. */
    private static final int REFRESH_LOCKS = 256;

    private final String self;
    private final MappingTable mappings;
    private final Fencing fencing;
    private final RemoteMemory remoteMemory;
    private final LmrRecords records;
    private final LmrCalls lmrCalls;
    private final UnfinishedMoves unfinishedMoves;
    private final LmrPlaces places;
    private final Duration timeout;
    private final ReentrantLock[] refreshing = new ReentrantLock[REFRESH_LOCKS];
    private final Map<Integer, UUID> arenaIds = new HashMap<>(); // used by the polling threads; guarded by itself

    /** How long a node waits for its own operations before it reports a failure to the master. */
    private volatile Duration endMax = Duration.ofSeconds(5);

    /**
     * @param self this node's name, for messages
     * @param timeout how long the node tries to resume a mapping that was paused with its registration
     */
    MappingChanges(
            String self,
            MappingTable mappings,
            Fencing fencing,
            RemoteMemory remoteMemory,
            LmrRecords records,
            LmrCalls lmrCalls,
            UnfinishedMoves unfinishedMoves,
            LmrPlaces places,
            Duration timeout) {
        this.self = self;
        this.mappings = mappings;
        this.fencing = fencing;
        this.remoteMemory = remoteMemory;
        this.records = records;
        this.lmrCalls = lmrCalls;
        this.unfinishedMoves = unfinishedMoves;
        this.places = places;
        this.timeout = timeout;
        for (int index = 0; index < REFRESH_LOCKS; index++) {
            refreshing[index] = new ReentrantLock();
        }
    }

    /** Makes the mappings of an LMR here follow its record; see {@link LmrCalls#refresh}. */
    void refresh(long lmrId, Deadline deadline) {
        // List the mappings first: from now on, a caller with an older record learns that it must read again.
        List<Mapping> ofLmr = mappings.change(lmrId);
        if (!ofLmr.isEmpty()) {
            ReentrantLock lock = lockChanges(lmrId, deadline);
            try {
                long since = mappings.losses();
                follow(ofLmr, currentRecord(ofLmr.getFirst(), deadline), since, deadline);
            } finally {
                lock.unlock();
            }
        }
        awaitGivenUp(deadline);
    }

    private ReentrantLock lockChanges(long lmrId, Deadline deadline) {
        ReentrantLock lock = refreshing[(int) lmrId & (REFRESH_LOCKS - 1)];
        try {
            if (!lock.tryLock(deadline.remainingNs(), TimeUnit.NANOSECONDS)) {
                throw new LiteTimeoutException(deadline.expired("another change of LMR " + lmrId));
            }
            return lock;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LmrUnavailableException("interrupted in a change of LMR " + lmrId, e);
        }
    }

    /** {@link #refresh} for an operation that waits for the end of a move; the mover may have died. */
    public void followRecord(@Nullable String name, long lmrId, Deadline deadline) {
        if (fencing.isLost()) {
            return; // no mapping resumes before this node's next registration
        }
        unfinishedMoves.undoIfAbandoned(name, lmrId, deadline);
        refresh(lmrId, deadline);
    }

    /**
     * Pauses every mapping because this node lost its registration: operations wait for {@link #resumeAll}, up to their
     * deadlines. Words of locks and barriers stay usable: if a node draws a ticket, it is asked for the ticket under
     * its next registration.
     */
    public void pauseAll(Deadline deadline) {
        List<Mapping> all = mappings.changeAll();
        all.forEach(Mapping::pause);
        if (!all.isEmpty() && !Mapping.awaitEndHere(all, deadline)) {
            throw new LiteTimeoutException(
                    deadline.expired("ending the operations on %s of node %s".formatted(handles(all), self)));
        }
    }

    /**
     * Makes every paused mapping follow its record again. If that fails for a mapping, its waiting callers refresh it.
     */
    public void resumeAll(Executor executor) {
        mappings.find(Mapping::isPaused).stream()
                .map(Mapping::id)
                .distinct()
                .forEach(id -> executor.execute(() -> {
                    try {
                        refresh(id, Deadline.in(timeout));
                    } catch (LiteException e) {
                        log.info("lmr={} cannot be refreshed now; its next use tries again: {}", id, e.getMessage());
                    }
                }));
    }

    private Optional<LmrRecord> currentRecord(Mapping mapping, Deadline deadline) {
        long id = mapping.id();
        String name = mapping.name().orElse(null);
        if (name != null || records.isMine(id)) {
            boolean unpublished = records.isUnpublished(id); // ask before the search: it may be published meanwhile
            Optional<LmrRecord> found = records.find(name, id, deadline).map(LmrRecords.Found::lmr);
            return found.isEmpty() && unpublished ? Optional.of(mapping.lmr()) : found;
        }
        try {
            return Optional.of(lmrCalls.record(id, "", 0, deadline));
        } catch (LmrNotFoundException e) {
            return Optional.empty();
        }
    }

    /**
     * Applies the record to the mappings of one LMR; returns when no operation uses a former record.
     *
     * @param since from {@link MappingTable#losses}, before the record was read
     */
    private void follow(List<Mapping> ofLmr, Optional<LmrRecord> found, long since, Deadline deadline) {
        LmrRecord lmr = found.filter(record -> record.state() != LmrRecord.State.FREEING)
                .orElse(null);
        if (lmr == null) {
            endAll(ofLmr, new LmrFreedException(FREED));
            return;
        }
        boolean moving = lmr.state() == LmrRecord.State.MOVING;
        List<Mapping> disturbed = ofLmr.stream()
                .filter(mapping -> moving
                        || !mapping.lmr().shares().equals(lmr.shares())
                        || (mapping.granted() & ~mapping.owner().allowed(lmr)) != 0)
                .toList();
        disturbed.forEach(Mapping::pause);
        if (!disturbed.isEmpty() && !Mapping.awaitEnd(disturbed, deadline)) {
            throw new LiteTimeoutException(
                    deadline.expired("ending the operations on LMR %d at node %s".formatted(lmr.id(), self)));
        }
        if (moving) {
            return; // awaitGivenUp() follows
        }
        if (!disturbed.isEmpty()) {
            awaitGivenUp(deadline);
        }
        long placed;
        do { // again if these places came too late
            placed = mappings.unmappings();
            long[] now = places.of(lmr, deadline);
            for (Mapping mapping : ofLmr) {
                if (mapping.isPaused()) {
                    boolean elsewhere = !mapping.lmr().shares().equals(lmr.shares());
                    boolean resumed =
                            mappings.resume(mapping, lmr, now, mapping.owner().allowed(lmr), since, placed);
                    if (resumed && elsewhere) {
                        mapping.owner().moved(lmr.id());
                    }
                }
            }
        } while (placed != mappings.unmappings());
    }

    /**
     * Makes every operation reach a memory of a peer through the fabric, in place of its mapping here; returns when nothing uses the
     * mapping any more. The connections to its node have ended. Operations on LMRs with a part there wait meanwhile.
     *
     * @throws LiteTimeoutException if an operation still uses it at the deadline; the mappings work as before then, and the caller tries
     *     again
     */
    void unmap(AddressRange memory, Deadline deadline) {
        Map<Long, List<Mapping>> byLmr = mappings.unmap(memory).stream().collect(Collectors.groupingBy(Mapping::id));
        byLmr.forEach((id, ofLmr) -> {
            ReentrantLock lock = lockChanges(id, deadline);
            try {
                unmap(ofLmr, memory, deadline);
            } finally {
                lock.unlock();
            }
        });
    }

    /** A mapping that is paused for another reason gets its places when it resumes. */
    private void unmap(List<Mapping> ofLmr, AddressRange memory, Deadline deadline) {
        long since = mappings.losses();
        long placed = mappings.unmappings();
        List<Mapping> paused = ofLmr.stream().filter(Mapping::tryPause).toList();
        boolean ended = Mapping.awaitEndHere(ofLmr, deadline);
        for (Mapping mapping : paused) {
            long[] places = mapping.placesOutside(ended ? memory : AddressRange.EMPTY);
            boolean unused = mappings.resume(mapping, mapping.lmr(), places, mapping.granted(), since, placed);
        }
        if (!ended) {
            throw new LiteTimeoutException(deadline.expired("ending the operations on LMR %d at node %s"
                    .formatted(ofLmr.getFirst().id(), self)));
        }
    }

    private void awaitGivenUp(Deadline deadline) {
        if (!remoteMemory.awaitGivenUp(deadline)) {
            throw new LiteTimeoutException(deadline.expired("ending abandoned operations"));
        }
    }

    /** Ends the mappings of an LMR that was freed; see {@link LmrCalls#revoke}. */
    void revoke(long lmrId) {
        endAll(mappings.change(lmrId), new LmrFreedException(FREED));
    }

    /** Ends the mappings of an LMR that {@link LmrRecords#loseGivenUp} returned. */
    void lose(long lmrId) {
        LiteException why = new LmrUnavailableException(
                "node %s was out of the cluster for so long that other nodes freed memory of this LMR".formatted(self));
        mappings.change(lmrId).forEach(mapping -> mapping.end(why));
    }

    private static String handles(List<Mapping> those) {
        return Counts.text(those.size(), "handle", "handles");
    }

    /** Sets how long {@link #endAll} waits for operations under way, for tests. */
    void setEndMax(Duration longest) {
        endMax = longest;
    }

    /** Ends mappings and removes them from the table; returns when nobody here can touch their memory. */
    public void endAll(List<Mapping> ending, LiteException why) {
        Deadline deadline = Deadline.in(endMax);
        ending.forEach(mapping -> mapping.end(why));
        if (!ending.isEmpty() && !Mapping.awaitEnd(ending, deadline)) {
            throw new LiteTimeoutException(deadline.expired("ending operations of %s".formatted(handles(ending))));
        }
        ending.forEach(Mapping::release);
        // Wait even without mappings: a handle may have been unmapped after its caller abandoned a write.
        awaitGivenUp(deadline);
    }

    /**
     * Ends the mappings of a former arena when its node restarts with a new one: their data is lost. A handle with MASTER alone
     * stays, whenever it was mapped: it needs no data, and its LMR can be freed.
     */
    @Override
    public void peerConnected(Peer peer) {
        UUID former;
        synchronized (arenaIds) {
            former = arenaIds.put(peer.id(), peer.hello().arenaId());
        }
        if (former != null && !former.equals(peer.hello().arenaId())) {
            LiteException why = new LmrUnavailableException("node %s restarted with a new arena; its old data is lost"
                    .formatted(peer.hello().node()));
            UUID now = peer.hello().arenaId();
            mappings.find(found -> LmrPlaces.needsData(found.granted()) && !LmrPlaces.isIn(found.lmr(), peer.id(), now))
                    .forEach(mapping -> mapping.end(why));
        }
    }
}

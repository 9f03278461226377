package dev.lite.tier.lmr;

import dev.lite.api.LiteException;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.RepeatingThread;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.peer.PeerLinks;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Frees an LMR's memory by the reclamation rule (architecture §6). It repeats each step until the step succeeds:
 *
 * <ol>
 *   <li>set the record, if there is one, from LIVE to FREEING;
 *   <li>wait until every node that may have the LMR mapped has ended its mappings and acknowledged;
 *   <li>free the extents on every node that holds some;
 *   <li>remove the record. It does not wait for the memory of nodes that are gone: they may never return.
 * </ol>
 *
 * <p>A fenced node needs no acknowledgement ({@link dev.lite.tier.peer.Fencing}). One background thread
 * ("lite-reclaim") begins the reclamations that missed their caller's deadline, up to {@value #ATTEMPTS_MAX} at a time.
 * They share reads of the directory, and a silent node delays only those that wait for it.
 */
public final class Reclaimer implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Reclaimer.class);
    private static final Duration ATTEMPT = Duration.ofSeconds(5);
    private static final int ATTEMPTS_MAX = 64;
    private static final long RETRY_NS = 500_000_000;
    private static final long DRAIN_PAUSE_NS = 2_000_000;

    private final int self;
    private final LmrRecords records;
    private final Mappers mappers;
    private final PeerLinks links;
    private final LmrCalls calls;
    private final NodeExtents extents;
    private final Executor executor;
    private final Semaphore attempts = new Semaphore(ATTEMPTS_MAX);
    private final LinkedBlockingQueue<Reclamation> queue = new LinkedBlockingQueue<>();
    private final Set<Long> takenOver = ConcurrentHashMap.newKeySet(); // pending LMRs that others began to free
    private final AtomicInteger pending = new AtomicInteger();
    private final Thread thread;
    private final AtomicInteger hopeless = new AtomicInteger(); // pending LMRs that wait only for disconnected nodes
    private final Queue<Reclamation> again = new ConcurrentLinkedQueue<>(); // to attempt later
    private long retryNs = System.nanoTime(); // when the thread adds them to the queue; confined to it
    private volatile boolean closed;

    /** @param executor of virtual threads */
    Reclaimer(
            int self,
            LmrRecords records,
            Mappers mappers,
            PeerLinks links,
            LmrCalls calls,
            NodeExtents extents,
            Executor executor) {
        this.self = self;
        this.records = records;
        this.mappers = mappers;
        this.links = links;
        this.calls = calls;
        this.extents = extents;
        this.executor = executor;
        this.thread = RepeatingThread.unstarted("lite-reclaim", this::step, log::error);
    }

    void start() {
        thread.start();
    }

    /** Reclaims an LMR; the record of a named LMR must say FREEING. Continues in the background after the deadline. */
    void reclaim(@Nullable String name, LmrRecord lmr, Deadline deadline) {
        Reclamation reclamation = new Reclamation(name, lmr, From.RECORD);
        try {
            if (reclamation.attempt(deadline)) {
                return;
            }
        } catch (LiteException e) {
            log.info("freeing lmr={} continues in the background: {}", lmr.id(), e.getMessage());
        } catch (RuntimeException | Error e) { // the reclamation must not be lost
            Unrecoverable.report(e);
            log.error("freeing lmr={} failed; trying again in the background", lmr.id(), e);
        }
        enqueue(reclamation);
    }

    /** Reclaims an LMR in the background, whatever the state in its record. */
    void reclaimLater(@Nullable String name, LmrRecord lmr) {
        enqueue(new Reclamation(name, lmr, From.RECORD));
    }

    /**
     * Reclaims a named LMR in the background, unless the directory has its record: then others may have mapped it, and it
     * lives. The directory carries out the requests of one client in their order, so a create without an answer is over when it
     * answers that there is no record.
     */
    void reclaimUnlessPublished(String name, LmrRecord lmr) {
        enqueue(new Reclamation(name, lmr, From.NO_RECORD));
    }

    /**
     * Reclaims a named LMR in the background if its record says FREEING: the caller asked for that change and got no answer.
     * Otherwise the change, which may still be on its way, fails.
     */
    void reclaimIfFreeing(String name, LmrRecord lmr) {
        enqueue(new Reclamation(name, lmr, From.FREEING_RECORD));
    }

    /** Reclaims a named LMR, whose record the caller has removed, in the background. */
    void reclaimRemoved(String name, LmrRecord lmr) {
        enqueue(new Reclamation(name, lmr, From.MAPPINGS));
    }

    /** {@link #reclaimLater} of an LMR that another node began to free. Ignores repeated calls while it is pending. */
    void takeOver(String name, LmrRecord lmr) {
        if (takenOver.add(lmr.id())) {
            log.info("freeing lmr={} name={} is taken over", lmr.id(), name);
            reclaimLater(name, lmr);
        }
    }

    /**
     * Frees unused extents in the background. The LMR itself may live on elsewhere.
     *
     * @param lmr the record with the shares to free
     */
    public void giveBackLater(LmrRecord lmr) {
        enqueue(new Reclamation(null, lmr, From.EXTENTS));
    }

    /** {@link #giveBackLater(LmrRecord)} of some shares of an LMR. */
    void giveBackLater(LmrRecord of, List<Share> shares) {
        giveBackLater(new LmrRecord(
                of.id(),
                LmrRecord.State.FREEING,
                of.size(),
                of.chunkShift(),
                of.defaultPermissions(),
                of.grants(),
                shares));
    }

    /**
     * Ends every mapping of LMRs that no longer exist: they have no record, or their creator has ended.
     *
     * @return those whose memory nobody can touch any more
     */
    public Set<Long> endMappings(Set<Long> lmrIds, Deadline deadline) {
        Set<Integer> nodes = mappers.ofRemoved(deadline);
        Set<Long> ended = new HashSet<>();
        for (long id : lmrIds) {
            Set<Integer> left = new TreeSet<>(nodes);
            left.removeAll(mappers.notifyAll(nodes, "freeing lmr=" + id, node -> calls.revoke(node, id, deadline)));
            if (left.isEmpty()) {
                ended.add(id);
            }
        }
        return ended;
    }

    private void enqueue(Reclamation reclamation) {
        pending.incrementAndGet();
        queue.add(reclamation);
    }

    /** Whether memory of connected nodes is not freed yet. */
    boolean isFreeing() {
        return pending.get() > hopeless.get();
    }

    /** The number of LMRs whose memory is not freed yet. */
    public int waiting() {
        return pending.get();
    }

    /** Waits until connected nodes have all their memory back, or until the deadline. */
    void drain(Deadline deadline) {
        Polling.until(() -> !isFreeing() || !thread.isAlive(), deadline, DRAIN_PAUSE_NS);
    }

    /** Waits for a reclamation and begins it; false if this object is closed, which also interrupts. On the thread only. */
    private boolean step() throws InterruptedException {
        long leftNs = retryNs - System.nanoTime();
        if (leftNs <= 0) { // also while new ones come all the time
            retryAll();
            leftNs = RETRY_NS;
            retryNs = System.nanoTime() + RETRY_NS;
        }
        Reclamation next = queue.poll(leftNs, TimeUnit.NANOSECONDS);
        if (next == null) {
            return !closed;
        }
        attempts.acquire();
        try {
            executor.execute(() -> finish(next));
        } catch (RejectedExecutionException e) {
            log.debug("freeing lmr={} ends: this node stops", next.lmr.id());
        }
        return !closed;
    }

    private void retryAll() {
        for (Reclamation next = again.poll(); next != null; next = again.poll()) {
            if (next.isHopeless()) {
                hopeless.decrementAndGet();
            }
            queue.add(next);
        }
    }

    private void finish(Reclamation reclamation) {
        boolean done = attempt(reclamation);
        attempts.release();
        if (done) {
            takenOver.remove(reclamation.lmr.id());
            pending.decrementAndGet();
            return;
        }
        if (reclamation.isHopeless()) {
            hopeless.incrementAndGet();
        }
        again.add(reclamation);
    }

    private boolean attempt(Reclamation reclamation) {
        try {
            return reclamation.attempt(Deadline.in(ATTEMPT));
        } catch (LiteException e) {
            log.debug("freeing lmr={} waits: {}", reclamation.lmr.id(), e.getMessage());
        } catch (RuntimeException | Error e) { // the reclamation must not be lost
            Unrecoverable.report(e);
            log.error("freeing lmr={} failed; trying again", reclamation.lmr.id(), e);
        }
        return false;
    }

    /** Stops. Memory that is not freed yet stays allocated in the arenas. */
    @Override
    public void close() {
        closed = true;
        thread.interrupt();
    }

    /** The first step of a reclamation. The last one, removing the record, is only for those that begin with it. */
    private enum From {
        RECORD,
        /** The steps of {@link #RECORD}, if the record says FREEING. */
        FREEING_RECORD,
        /** The steps of {@link #MAPPINGS}, if the directory has no record. */
        NO_RECORD,
        MAPPINGS,
        EXTENTS
    }

    /** The reclamation of one LMR. One thread at a time. */
    private final class Reclamation {
        private final @Nullable String name;
        private From from;
        private final Set<Integer> notified = new HashSet<>();
        private final Set<Integer> given = new HashSet<>();
        private LmrRecord lmr;
        private boolean hopeless;

        Reclamation(@Nullable String name, LmrRecord lmr, From from) {
            this.name = name;
            this.lmr = lmr;
            this.from = from;
        }

        /** Runs the steps as far as possible; returns whether all are done. */
        boolean attempt(Deadline deadline) {
            if (from == From.NO_RECORD && records.find(name, lmr.id(), deadline).isPresent()) {
                log.info("lmr={} name={} was published, although its creator got no answer: it stays", lmr.id(), name);
                return true;
            }
            if (from == From.FREEING_RECORD) {
                Optional<LmrRecords.Found> found = records.find(name, lmr.id(), deadline);
                if (found.isEmpty()) {
                    return true;
                }
                LmrRecord current = found.get().lmr();
                if (current.state() != LmrRecord.State.FREEING) {
                    return records.replace(name, found.get(), current, deadline); // with a new version
                }
                from = From.RECORD;
            }
            if ((from == From.RECORD && !stopMapping(deadline)) || (from != From.EXTENTS && !revokeAll(deadline))) {
                return false;
            }
            boolean all = atAll(holders(), given, node -> giveBack(node, deadline));
            if (!all && (from == From.EXTENTS || !isLeftToGone(deadline))) {
                return false;
            }
            if (from == From.RECORD && !records.remove(name, lmr.id(), deadline)) {
                return false;
            }
            from = From.EXTENTS;
            return all;
        }

        /**
         * Whether only nodes that are gone still have memory of it. They may never return, and its record
         * does not wait for them. If one returns with its arena, the memory is given back then, or found by its
         * scan for orphans.
         */
        private boolean isLeftToGone(Deadline deadline) {
            Set<Integer> left = holders();
            left.removeAll(given);
            return mappers.areGone(left, deadline).containsAll(left);
        }

        /** Makes the LMR unmappable; false if not yet. Waits for the end of a move and then frees the new place. */
        private boolean stopMapping(Deadline deadline) {
            Optional<LmrRecords.Found> found = records.find(name, lmr.id(), deadline);
            if (found.isEmpty()) {
                return true; // the record was never made, or is removed
            }
            LmrRecord current = found.get().lmr();
            if (current.state() == LmrRecord.State.MOVING) {
                return false;
            }
            lmr = current;
            return current.state() == LmrRecord.State.FREEING
                    || records.replace(name, found.get(), current.withState(LmrRecord.State.FREEING), deadline);
        }

        /** Ends every mapping of the LMR; false if a node did not acknowledge yet and is not gone. */
        private boolean revokeAll(Deadline deadline) {
            Set<Integer> nodes = mappers.of(name, lmr.id(), deadline);
            Set<Integer> left = new TreeSet<>(nodes);
            left.removeAll(notified);
            notified.addAll(mappers.notifyAll(left, what(), node -> calls.revoke(node, lmr.id(), deadline)));
            return isDone(nodes, notified);
        }

        private Set<Integer> holders() {
            Set<Integer> nodes = new TreeSet<>();
            lmr.shares().stream().map(Share::node).forEach(nodes::add);
            return nodes;
        }

        private void giveBack(int node, Deadline deadline) {
            for (Share share : lmr.shares()) {
                if (share.node() == node) {
                    extents.free(lmr.id(), share, deadline);
                }
            }
        }

        private boolean atAll(Set<Integer> nodes, Set<Integer> done, Mappers.NodeAction action) {
            Set<Integer> left = new TreeSet<>(nodes);
            left.removeAll(done);
            done.addAll(mappers.atAll(left, what(), action));
            return isDone(nodes, done);
        }

        private String what() {
            return "freeing lmr=" + lmr.id();
        }

        private boolean isDone(Set<Integer> nodes, Set<Integer> done) {
            Set<Integer> missing = new TreeSet<>(nodes);
            missing.removeAll(done);
            hopeless =
                    !missing.isEmpty() && missing.stream().allMatch(node -> node != self && links.peer(node) == null);
            return missing.isEmpty();
        }

        /** Whether this reclamation waits only for disconnected nodes. */
        boolean isHopeless() {
            return hopeless;
        }
    }
}

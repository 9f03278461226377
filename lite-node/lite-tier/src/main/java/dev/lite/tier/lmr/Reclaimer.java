package dev.lite.tier.lmr;

import dev.lite.api.LiteException;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.peer.PeerLinks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives an LMR's memory back by the reclamation rule (architecture §6), step by step, and repeats a step until it is done:
 *
 * <ol>
 *   <li>the record of its name, if it has one, does not say LIVE;
 *   <li>every node that may have it mapped has ended its mappings and said so;
 *   <li>every node that holds extents has them back;
 *   <li>the record is gone.
 * </ol>
 *
 * <p>A node counts as gone when it is fenced ({@link dev.lite.tier.peer.Fencing}). One background thread ("lite-reclaim") takes over what a caller's deadline left undone.
 */
public final class Reclaimer implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Reclaimer.class);
    private static final Duration ATTEMPT = Duration.ofSeconds(5);
    private static final long RETRY_MS = 500;
    private static final long DRAIN_PAUSE_NS = 2_000_000;

    private final int self;
    private final LmrRecords records;
    private final Mappers mappers;
    private final PeerLinks links;
    private final LmrCalls calls;
    private final NodeExtents extents;
    private final LinkedBlockingQueue<Reclamation> queue = new LinkedBlockingQueue<>();
    private final Set<Long> takenOver = ConcurrentHashMap.newKeySet(); // those of others among the pending ones
    private final AtomicInteger pending = new AtomicInteger();
    private final Thread thread;
    private final AtomicInteger hopeless = new AtomicInteger(); // pending ones that wait for disconnected nodes only
    private volatile boolean closed;

    Reclaimer(int self, LmrRecords records, Mappers mappers, PeerLinks links, LmrCalls calls, NodeExtents extents) {
        this.self = self;
        this.records = records;
        this.mappers = mappers;
        this.links = links;
        this.calls = calls;
        this.extents = extents;
        this.thread = Thread.ofPlatform().name("lite-reclaim").daemon().unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    /** Reclaims an LMR whose record, if it has a name, says FREEING; continues in the background after the deadline. */
    void reclaim(@Nullable String name, LmrRecord lmr, Deadline deadline) {
        Reclamation reclamation = new Reclamation(name, lmr, false);
        try {
            if (reclamation.attempt(deadline)) {
                return;
            }
        } catch (LiteException e) {
            log.info("freeing lmr={} continues in the background: {}", lmr.id(), e.getMessage());
        }
        enqueue(reclamation);
    }

    /** Reclaims an LMR in the background, whatever its record says. */
    void reclaimLater(@Nullable String name, LmrRecord lmr) {
        enqueue(new Reclamation(name, lmr, false));
    }

    /** {@link #reclaimLater} of an LMR that another node began to free; once, however often it is asked for meanwhile. */
    void takeOver(String name, LmrRecord lmr) {
        if (takenOver.add(lmr.id())) {
            log.info("freeing lmr={} name={} is taken over", lmr.id(), name);
            reclaimLater(name, lmr);
        }
    }

    /**
     * Gives extents back in the background that nobody uses any more, of an LMR that may live on elsewhere.
     *
     * @param lmr its shares are given back
     */
    public void giveBackLater(LmrRecord lmr) {
        enqueue(new Reclamation(null, lmr, true));
    }

    private void enqueue(Reclamation reclamation) {
        pending.incrementAndGet();
        queue.add(reclamation);
    }

    /** How many LMRs wait for their memory to be given back. */
    public int waiting() {
        return pending.get();
    }

    /** Waits until everything is given back that connected nodes can take, or the deadline passed. */
    void drain(Deadline deadline) {
        Polling.until(() -> pending.get() <= hopeless.get() || !thread.isAlive(), deadline, DRAIN_PAUSE_NS);
    }

    private void run() {
        List<Reclamation> again = new ArrayList<>();
        while (!closed) {
            try {
                Reclamation next = queue.poll(RETRY_MS, TimeUnit.MILLISECONDS);
                if (next == null) {
                    queue.addAll(again);
                    again.clear();
                    hopeless.set(0);
                } else if (attempt(next)) {
                    pending.decrementAndGet();
                    takenOver.remove(next.lmr.id());
                } else {
                    again.add(next);
                    if (next.isHopeless()) {
                        hopeless.incrementAndGet();
                    }
                }
            } catch (InterruptedException e) {
                return; // close() does that
            }
        }
    }

    private boolean attempt(Reclamation reclamation) {
        try {
            return reclamation.attempt(Deadline.in(ATTEMPT));
        } catch (LiteException e) {
            log.debug("freeing lmr={} waits: {}", reclamation.lmr.id(), e.getMessage());
        } catch (RuntimeException e) {
            log.error("freeing lmr={} failed; trying again", reclamation.lmr.id(), e);
        }
        return false;
    }

    /** Stops; what was not done stays allocated in the arenas. */
    @Override
    public void close() {
        closed = true;
        thread.interrupt();
    }

    /** One LMR on its way back. Used by one thread at a time. */
    private final class Reclamation {
        private final @Nullable String name;
        private final boolean extentsOnly;
        private final Set<Integer> notified = new HashSet<>();
        private final Set<Integer> given = new HashSet<>();
        private LmrRecord lmr;
        private boolean hopeless;

        Reclamation(@Nullable String name, LmrRecord lmr, boolean extentsOnly) {
            this.name = name;
            this.lmr = lmr;
            this.extentsOnly = extentsOnly;
        }

        /** Does what can be done; returns whether that was all. */
        boolean attempt(Deadline deadline) {
            if (extentsOnly) {
                return atAll(holders(), given, node -> giveBack(node, deadline));
            }
            return stopMapping(deadline)
                    && atAll(mappers.of(name, lmr.id()), notified, node -> calls.revoke(node, lmr.id(), deadline))
                    && atAll(holders(), given, node -> giveBack(node, deadline))
                    && records.remove(name, lmr.id(), deadline);
        }

        /** Whether nobody can map it any more. An LMR that moves does that first; what is freed is where it lies then. */
        private boolean stopMapping(Deadline deadline) {
            Optional<LmrRecords.Found> found = records.find(name, lmr.id(), deadline);
            if (found.isEmpty()) {
                return true; // it was not made, or is gone
            }
            LmrRecord current = found.get().lmr();
            if (current.state() == LmrRecord.State.MOVING) {
                return false;
            }
            lmr = current;
            return current.state() == LmrRecord.State.FREEING
                    || records.replace(name, found.get(), current.withState(LmrRecord.State.FREEING), deadline);
        }

        private Set<Integer> holders() {
            Set<Integer> nodes = new TreeSet<>();
            lmr.shares().stream().map(Share::node).forEach(nodes::add);
            return nodes;
        }

        private void giveBack(int node, Deadline deadline) {
            for (Share share : lmr.shares()) {
                if (share.node() == node) {
                    extents.free(node, lmr.id(), share.runs(), deadline);
                }
            }
        }

        private boolean atAll(Set<Integer> nodes, Set<Integer> done, Mappers.NodeAction action) {
            Set<Integer> left = new TreeSet<>(nodes);
            left.removeAll(done);
            done.addAll(mappers.atAll(left, "freeing lmr=" + lmr.id(), action));
            Set<Integer> missing = new TreeSet<>(nodes);
            missing.removeAll(done);
            hopeless =
                    !missing.isEmpty() && missing.stream().allMatch(node -> node != self && links.peer(node) == null);
            return missing.isEmpty();
        }

        /** Whether every node that it waits for is disconnected. */
        boolean isHopeless() {
            return hopeless;
        }
    }
}

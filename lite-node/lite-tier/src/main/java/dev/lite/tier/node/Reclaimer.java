package dev.lite.tier.node;

import dev.lite.api.LiteException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.cluster.NodeRecord;
import dev.lite.cluster.VersionedRecord;
import dev.lite.tier.Deadline;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
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
 * <p>A node counts as gone when the directory does not list it and its connection is cut. One background thread
 * ("lite-reclaim") takes over what a caller's deadline left undone.
 */
final class Reclaimer implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Reclaimer.class);
    private static final Duration ATTEMPT = Duration.ofSeconds(5);
    private static final long RETRY_MS = 500;
    private static final long DRAIN_PAUSE_NS = 2_000_000;

    private final int self;
    private final ClusterDirectory directory;
    private final PeerLinks links;
    private final NodeCalls calls;
    private final Executor executor;
    private final LinkedBlockingQueue<Reclamation> queue = new LinkedBlockingQueue<>();
    private final AtomicInteger pending = new AtomicInteger();
    private final Thread thread;
    private final AtomicInteger hopeless = new AtomicInteger(); // pending ones that wait for disconnected nodes only
    private volatile boolean closed;

    Reclaimer(int self, ClusterDirectory directory, PeerLinks links, NodeCalls calls, Executor executor) {
        this.self = self;
        this.directory = directory;
        this.links = links;
        this.calls = calls;
        this.executor = executor;
        this.thread = Thread.ofPlatform().name("lite-reclaim").daemon().unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    /** Reclaims an LMR whose record, if it has a name, says FREEING; goes on in the background after the deadline. */
    void reclaim(@Nullable String name, LmrRecord lmr, Deadline deadline) {
        Reclamation reclamation = new Reclamation(name, lmr);
        try {
            if (reclamation.attempt(deadline)) {
                return;
            }
        } catch (LiteException e) {
            log.info("freeing lmr={} goes on in the background: {}", lmr.id(), e.getMessage());
        }
        enqueue(reclamation);
    }

    /** Reclaims an LMR in the background, whatever its record says. */
    void reclaimLater(@Nullable String name, LmrRecord lmr) {
        enqueue(new Reclamation(name, lmr));
    }

    private void enqueue(Reclamation reclamation) {
        pending.incrementAndGet();
        queue.add(reclamation);
    }

    /** How many LMRs wait for their memory to be given back. */
    int waiting() {
        return pending.get();
    }

    /** Waits until everything is given back that connected nodes can take, or the deadline passed. */
    void drain(Deadline deadline) {
        while (pending.get() > hopeless.get() && !deadline.passed() && thread.isAlive()) {
            LockSupport.parkNanos(DRAIN_PAUSE_NS);
        }
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
        private final LmrRecord lmr;
        private final Set<Integer> told = new HashSet<>();
        private final Set<Integer> given = new HashSet<>();
        private boolean hopeless;

        Reclamation(@Nullable String name, LmrRecord lmr) {
            this.name = name;
            this.lmr = lmr;
        }

        /** Does what can be done; returns whether that was all. */
        boolean attempt(Deadline deadline) {
            return stopMapping(deadline)
                    && atAll(mappers(), told, node -> calls.revoke(node, lmr.id(), deadline))
                    && atAll(holders(), given, node -> giveBack(node, deadline))
                    && forget(deadline);
        }

        private boolean stopMapping(Deadline deadline) {
            Optional<VersionedRecord> found = ownRecord(deadline);
            if (found.isEmpty() || name == null) {
                return true;
            }
            LmrRecord current = LmrRecord.decode(found.get().bytes());
            return current.state() == LmrRecord.State.FREEING
                    || directory
                            .compareAndSet(
                                    name,
                                    found.get().version(),
                                    current.withState(LmrRecord.State.FREEING).encode(),
                                    deadline.remaining())
                            .isPresent();
        }

        /** The record of the name, if it is this LMR's. */
        private Optional<VersionedRecord> ownRecord(Deadline deadline) {
            if (name == null) {
                return Optional.empty();
            }
            return directory
                    .read(name, deadline.remaining())
                    .filter(found -> LmrRecord.decode(found.bytes()).id() == lmr.id());
        }

        /** Whoever may have it mapped: the live nodes, the connected ones, this one. */
        private Set<Integer> mappers() {
            Set<Integer> nodes = new TreeSet<>();
            nodes.add(self);
            if (name == null) {
                return nodes; // without a name it can be mapped at its creator's node only
            }
            directory.nodes().stream().map(NodeRecord::id).forEach(nodes::add);
            links.peers().stream().map(Peer::id).forEach(nodes::add);
            return nodes;
        }

        private Set<Integer> holders() {
            Set<Integer> nodes = new TreeSet<>();
            lmr.shares().stream().map(Share::node).forEach(nodes::add);
            return nodes;
        }

        private void giveBack(int node, Deadline deadline) {
            for (Share share : lmr.shares()) {
                if (share.node() == node) {
                    calls.free(node, lmr.id(), share.runs(), deadline);
                }
            }
        }

        /** Acts at all nodes at once, so that a silent one does not keep the others from hearing of it. */
        private boolean atAll(Set<Integer> nodes, Set<Integer> done, NodeAction action) {
            List<CompletableFuture<Void>> acts = new ArrayList<>();
            Set<Integer> succeeded = new TreeSet<>();
            try {
                for (int node : nodes) {
                    // Who is not connected is not waited for: the others' reclamations would wait, too.
                    if (node != self && !done.contains(node) && links.peer(node) != null) {
                        acts.add(CompletableFuture.runAsync(() -> act(node, succeeded, action), executor));
                    }
                }
                if (nodes.contains(self) && !done.contains(self)) {
                    act(self, succeeded, action); // without a hop to another thread
                }
            } catch (RejectedExecutionException e) {
                log.debug("freeing lmr={} ends: node stops", lmr.id());
            }
            acts.forEach(CompletableFuture::join); // every act has a deadline
            synchronized (succeeded) {
                done.addAll(succeeded);
            }
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

        private void act(int node, Set<Integer> succeeded, NodeAction action) {
            try {
                action.at(node);
                synchronized (succeeded) {
                    succeeded.add(node);
                }
            } catch (RuntimeException e) {
                log.debug("freeing lmr={} waits for node {}: {}", lmr.id(), node, e.toString());
            }
        }

        private boolean forget(Deadline deadline) {
            Optional<VersionedRecord> found = ownRecord(deadline);
            return name == null
                    || found.isEmpty()
                    || directory.delete(name, found.get().version(), deadline.remaining());
        }
    }

    private interface NodeAction {
        void at(int node);
    }
}

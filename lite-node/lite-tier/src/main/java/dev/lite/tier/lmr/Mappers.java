package dev.lite.tier.lmr;

import dev.lite.api.LiteTimeoutException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.peer.Fencing;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds and notifies the nodes that may have an LMR mapped. Any thread. */
public final class Mappers {
    private static final Logger log = LoggerFactory.getLogger(Mappers.class);
    private static final long PAUSE_NS = 5_000_000;

    private final int self;
    private final PeerLinks links;
    private final LmrRecords records;
    private final LmrCalls calls;
    private final Executor executor;
    private final Fencing fencing;

    /** An action at one node; blocks up to a deadline. */
    public interface NodeAction {
        void at(int node);
    }

    Mappers(int self, PeerLinks links, LmrRecords records, LmrCalls calls, Fencing fencing, Executor executor) {
        this.self = self;
        this.links = links;
        this.records = records;
        this.calls = calls;
        this.executor = executor;
        this.fencing = fencing;
    }

    /**
     * The nodes that may use a former record of an LMR; call this after the record has changed. A node maps a named LMR
     * after its registration, and reads the record then. So these are the nodes with an unfenced process that
     * registered before this call; a later one finds the changed record. For an anonymous LMR they are the nodes that
     * asked its creator, this node, for its record.
     *
     * @throws dev.lite.api.ClusterUnavailableException if the LMR has a name and the directory does not answer
     */
    Set<Integer> of(@Nullable String name, long id, Deadline deadline) {
        Set<Integer> nodes;
        if (name == null) {
            nodes = records.mappers(id);
            nodes.removeAll(fencing.areGone(nodes, deadline));
        } else {
            nodes = fencing.notFenced(deadline);
        }
        nodes.add(self);
        return nodes;
    }

    /**
     * The nodes that may use an LMR whose record is removed: all that are not gone, and this one.
     *
     * @throws dev.lite.api.ClusterUnavailableException if the directory does not answer
     */
    public Set<Integer> ofRemoved(Deadline deadline) {
        Set<Integer> nodes = fencing.notFenced(deadline);
        nodes.add(self);
        return nodes;
    }

    /** See {@link PeerLinks#nameOf}. */
    String nameOf(int node) {
        return links.nameOf(node);
    }

    /** Whether the last report of the directory lists a node. */
    boolean isLive(int node) {
        return links.isLive(node);
    }

    /** See {@link Fencing#isGone}. */
    public boolean isGone(int node, Deadline deadline) {
        return fencing.isGone(node, deadline);
    }

    /** See {@link Fencing#areGone}. */
    public Set<Integer> areGone(Set<Integer> nodes, Deadline deadline) {
        return fencing.areGone(nodes, deadline);
    }

    /** Whether a process of a node can no longer touch any memory. */
    boolean isFenced(int node, long incarnation) {
        return fencing.isFenced(node, incarnation);
    }

    /** See {@link Fencing#fencedUpTo}. */
    public long fencedUpTo(int node) {
        return fencing.fencedUpTo(node);
    }

    /** The incarnation of this process's registration. */
    long ownIncarnation() {
        return fencing.registration().incarnation();
    }

    /**
     * Notifies the mappers of an LMR of a change of its record; returns when all follow it. A mapper follows the record
     * before it answers ({@link MappingChanges#refresh}).
     *
     * @throws LiteTimeoutException if a mapper does not follow it by the deadline
     */
    void notifyOfChange(@Nullable String name, long id, Deadline deadline) {
        Set<Integer> left = of(name, id, deadline);
        while (true) {
            left.removeAll(notifyAll(left, "a change of lmr=" + id, node -> calls.refresh(node, id, deadline)));
            left.removeAll(areGone(left, deadline));
            if (left.isEmpty()) {
                return;
            }
            if (deadline.passed()) {
                throw new LiteTimeoutException(deadline.expired(
                        "LMR %d: waiting for the nodes %s to follow the change of its record".formatted(id, left)));
            }
            Polling.sleepNs(PAUSE_NS);
        }
    }

    /**
     * Notifies the connected mappers once. Any other reads the record itself when an operation waits there.
     */
    void notifyReachable(@Nullable String name, long id, Deadline deadline) {
        atAll(of(name, id, deadline), "a change of lmr=" + id, node -> calls.refresh(node, id, deadline));
    }

    /**
     * Notifies all nodes in parallel of a change of a record, as {@link #atAll} does.
     *
     * @return the nodes that follow the change: the notified process acknowledged it, and every other process of the
     *     node is fenced
     */
    public Set<Integer> notifyAll(Set<Integer> nodes, String what, NodeAction action) {
        Map<Integer, Peer> asked = new HashMap<>();
        for (int node : nodes) {
            Peer peer = links.peer(node);
            if (peer != null) {
                asked.put(node, peer);
            }
        }
        Set<Integer> acknowledged = atAll(nodes, what, action);
        // First whether the process that is connected now speaks for its node, then whether it is the one that
        // answered.
        acknowledged.removeIf(node ->
                !fencing.isSettled(node) || (node != self && !Objects.equals(links.peer(node), asked.get(node))));
        return acknowledged;
    }

    /**
     * Acts at all nodes in parallel, so that a silent node does not delay the others. Skips disconnected nodes, because
     * waiting for them would delay the result.
     *
     * @return the nodes where the action succeeded; the log has the failures of the others
     */
    Set<Integer> atAll(Set<Integer> nodes, String what, NodeAction action) {
        List<CompletableFuture<Void>> acts = new ArrayList<>();
        Set<Integer> succeeded = new TreeSet<>();
        try {
            for (int node : nodes) {
                if (node != self && links.peer(node) != null) {
                    acts.add(CompletableFuture.runAsync(() -> act(node, succeeded, what, action), executor));
                }
            }
            if (nodes.contains(self)) {
                act(self, succeeded, what, action); // without a hop to another thread
            }
        } catch (RejectedExecutionException e) {
            log.debug("{} ends: this node stops", what);
        }
        acts.forEach(CompletableFuture::join); // every act has a deadline
        synchronized (succeeded) {
            return new TreeSet<>(succeeded);
        }
    }

    private static void act(int node, Set<Integer> succeeded, String what, NodeAction action) {
        try {
            action.at(node);
            synchronized (succeeded) {
                succeeded.add(node);
            }
        } catch (RuntimeException | Error e) { // the other nodes' results count all the same
            Unrecoverable.report(e);
            log.debug("{} waits for node {}: {}", what, node, e.toString());
        }
    }
}

package dev.lite.tier.lmr;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.NodeRecord;
import dev.lite.tier.peer.Fencing;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import java.util.ArrayList;
import java.util.List;
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

    private final int self;
    private final ClusterDirectory directory;
    private final PeerLinks links;
    private final LmrRecords records;
    private final Executor executor;
    private final Fencing fencing;

    /** An action at one node; blocks up to a deadline. */
    interface NodeAction {
        void at(int node);
    }

    Mappers(
            int self,
            ClusterDirectory directory,
            PeerLinks links,
            LmrRecords records,
            Fencing fencing,
            Executor executor) {
        this.self = self;
        this.directory = directory;
        this.links = links;
        this.records = records;
        this.executor = executor;
        this.fencing = fencing;
    }

    /**
     * The nodes that may have an LMR mapped. For a named LMR: the live nodes, the connected nodes, the nodes that left
     * and are not fenced, and this node. For an anonymous LMR: the nodes that asked its creator, this node, for its
     * record.
     */
    Set<Integer> of(@Nullable String name, long id) {
        Set<Integer> nodes = new TreeSet<>();
        nodes.add(self);
        if (name == null) {
            records.mappers(id).stream().filter(node -> !isGone(node)).forEach(nodes::add);
            return nodes;
        }
        directory.nodes().stream().map(NodeRecord::id).forEach(nodes::add);
        links.peers().stream().map(Peer::id).forEach(nodes::add);
        fencing.notFenced().stream().filter(node -> !isGone(node)).forEach(nodes::add);
        return nodes;
    }

    /** Whether the last report of the directory lists a node. */
    boolean isLive(int node) {
        return links.isLive(node);
    }

    /** Whether all processes of a node are fenced. */
    public boolean isGone(int node) {
        return fencing.isGone(node);
    }

    /** Whether a process of a node can no longer touch any memory. */
    boolean isFenced(int node, long incarnation) {
        return fencing.isFenced(node, incarnation);
    }

    /** The incarnation of this process's registration. */
    long ownIncarnation() {
        return fencing.registration().incarnation();
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
        } catch (RuntimeException e) {
            log.debug("{} waits for node {}: {}", what, node, e.toString());
        }
    }
}

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

/** The nodes that may have an LMR mapped, and how they are notified. Any thread. */
public final class Mappers {
    private static final Logger log = LoggerFactory.getLogger(Mappers.class);

    private final int self;
    private final ClusterDirectory directory;
    private final PeerLinks links;
    private final LmrRecords records;
    private final Executor executor;
    private final Fencing fencing;

    /** What is done at a node; blocks up to a deadline. */
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
     * The nodes that may have an LMR mapped: if it has a name the live nodes, the connected ones, those that left and are not
     * fenced, and this one; if it has none, those that asked its creator, this node, for its record.
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

    /** Whether the directory lists a node, as last reported. */
    boolean isLive(int node) {
        return links.isLive(node);
    }

    /** A node counts as gone when each of its processes is fenced. */
    public boolean isGone(int node) {
        return fencing.isGone(node);
    }

    /** Whether a process of a node can touch nothing any more. */
    boolean isFenced(int node, long incarnation) {
        return fencing.isFenced(node, incarnation);
    }

    /** Which registration this process has. */
    long ownIncarnation() {
        return fencing.registration().incarnation();
    }

    /**
     * Acts at all nodes at once, so that a silent one does not delay the others. A node that is not connected is
     * passed over: the others' word would wait, too.
     *
     * @return where it was done; of the others the log says why not
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
            log.debug("{} ends: node stops", what);
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

package dev.lite.tier.node;

import dev.lite.os.waiting.Deadline;
import dev.lite.tier.peer.Fencing;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.sync.ClusterView;
import java.util.Set;

/** The nodes that may hold or wait for locks: those with a process that is not fenced. Any thread. */
final class NodeClusterView implements ClusterView {
    private final int self;
    private final PeerLinks links;
    private final Fencing fencing;

    NodeClusterView(int self, PeerLinks links, Fencing fencing) {
        this.self = self;
        this.links = links;
        this.fencing = fencing;
    }

    @Override
    public boolean isConnected(int node) {
        return node == self || links.peer(node) != null;
    }

    @Override
    public String nameOf(int node) {
        return links.nameOf(node);
    }

    @Override
    public boolean isSettled(int node) {
        return fencing.isSettled(node);
    }

    @Override
    public Set<Integer> nodes(Deadline deadline) {
        fencing.read(deadline);
        Set<Integer> nodes = fencing.notFenced(deadline);
        nodes.add(self);
        return nodes;
    }
}

package dev.lite.tier.node;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.NodeRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.peer.Fencing;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.sync.ClusterView;
import java.util.Set;
import java.util.TreeSet;

/** The nodes that may hold or wait for locks: registered, connected, or not fenced yet. Any thread. */
final class NodeClusterView implements ClusterView {
    private final int self;
    private final ClusterDirectory directory;
    private final PeerLinks links;
    private final Fencing fencing;

    NodeClusterView(int self, ClusterDirectory directory, PeerLinks links, Fencing fencing) {
        this.self = self;
        this.directory = directory;
        this.links = links;
        this.fencing = fencing;
    }

    @Override
    public boolean isConnected(int node) {
        return node == self || links.peer(node) != null;
    }

    @Override
    public boolean isSettled(int node) {
        return fencing.isSettled(node);
    }

    @Override
    public Set<Integer> nodes(Deadline deadline) {
        Set<Integer> nodes = new TreeSet<>();
        nodes.add(self);
        directory.nodesNow(deadline.remaining()).stream().map(NodeRecord::id).forEach(nodes::add);
        links.peers().stream().map(Peer::id).forEach(nodes::add);
        fencing.read(deadline);
        fencing.notFenced().stream().filter(node -> !fencing.isGone(node)).forEach(nodes::add);
        return nodes;
    }
}

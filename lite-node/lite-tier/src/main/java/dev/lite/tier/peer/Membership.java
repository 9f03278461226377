package dev.lite.tier.peer;

import dev.lite.cluster.Epoch;
import dev.lite.cluster.NodeRecord;
import java.util.List;

/**
 * The members of the cluster, as far as this node knows. Immutable.
 *
 * @param live the registered nodes, as the directory lists them
 * @param epoch the removed nodes
 */
record Membership(List<NodeRecord> live, Epoch epoch) {
    /** The initial value, before anything is known. */
    static final Membership UNKNOWN = new Membership(List.of(), Epoch.NONE);

    Membership {
        live = List.copyOf(live);
    }

    Membership withLive(List<NodeRecord> now) {
        return new Membership(now, epoch);
    }

    Membership withEpoch(Epoch now) {
        return new Membership(live, now);
    }

    /** Whether the directory lists a node. */
    boolean isLive(int node) {
        return live.stream().anyMatch(record -> record.id() == node);
    }

    /** The registration of a process of a node; 0 if unknown. */
    long incarnationOf(int node, long process) {
        for (NodeRecord record : live) {
            if (record.id() == node && record.process() == process) {
                return record.incarnation();
            }
        }
        return 0;
    }

    /** Whether the epoch removed a registration of a node. */
    boolean isRemoved(int node, long incarnation) {
        return isRemoved(epoch, node, incarnation);
    }

    /** Whether an epoch removed a registration. Incarnation 0 means unknown: it may be any. */
    static boolean isRemoved(Epoch by, int node, long incarnation) {
        long upTo = by.removedUpTo(node);
        return upTo > 0 && incarnation <= upTo;
    }

    /** A message that the epoch removed a node. */
    String removal(String node) {
        return "node %s was removed from the cluster by epoch %d or an earlier one".formatted(node, epoch.number());
    }
}

package dev.lite.api;

import java.util.List;
import java.util.Objects;

/**
 * Which nodes store the bytes of an LMR. The creator chooses (paper §4.1). An LMR is cut into chunks of 4 MiB, or of less if it would
 * not reach all its nodes otherwise. A placement on several nodes distributes the chunks.
 */
public sealed interface Placement {

    /** All bytes on the node that this session is attached to. */
    static Placement local() {
        return Local.INSTANCE;
    }

    /** All bytes on one node, given by name. */
    static Placement on(String node) {
        NodeInfo.checkName(node);
        return new OnNodes(List.of(node));
    }

    /**
     * The chunks on these nodes in turn, in the order given.
     *
     * @throws IllegalArgumentException when the list is empty or contains an invalid name; see {@link NodeInfo#checkName}
     */
    static Placement on(List<String> nodes) {
        return new OnNodes(nodes);
    }

    /** All bytes on one node; the nodes take turns from one LMR to the next. Embedded nodes are chosen as in {@link #spread}. */
    static Placement roundRobin() {
        return RoundRobin.INSTANCE;
    }

    /**
     * The chunks on all live nodes in turn. Embedded nodes, whose memory ends with their processes, get none, unless there are no other
     * nodes.
     */
    static Placement spread() {
        return Spread.INSTANCE;
    }

    /** See {@link Placement#local()}. */
    enum Local implements Placement {
        INSTANCE
    }

    /** See {@link Placement#roundRobin()}. */
    enum RoundRobin implements Placement {
        INSTANCE
    }

    /** See {@link Placement#spread()}. */
    enum Spread implements Placement {
        INSTANCE
    }

    /**
     * See {@link Placement#on(List)}.
     *
     * @param nodes node names, at least one; see {@link NodeInfo#checkName}
     */
    record OnNodes(List<String> nodes) implements Placement {
        public OnNodes {
            Objects.requireNonNull(nodes, "nodes").forEach(node -> Names.requireNode("nodes", node));
            nodes = List.copyOf(nodes);
            if (nodes.isEmpty()) {
                throw new IllegalArgumentException("a placement on nodes names no node; it needs at least 1");
            }
        }
    }
}

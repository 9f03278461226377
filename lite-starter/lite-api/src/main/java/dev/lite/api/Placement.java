package dev.lite.api;

import java.util.List;

/** On which nodes the bytes of an LMR lie. The master that creates the LMR chooses (paper §4.1). */
public sealed interface Placement {

    /** The node that this session is attached to. */
    static Placement local() {
        return Local.INSTANCE;
    }

    /** One node, by its name. */
    static Placement on(String node) {
        return new OnNodes(List.of(node));
    }

    /** These nodes: the chunks of the LMR are dealt to them in turn, in the order given. */
    static Placement on(List<String> nodes) {
        return new OnNodes(nodes);
    }

    /** One node for the whole LMR; the cluster's nodes take turns from one LMR to the next. */
    static Placement roundRobin() {
        return RoundRobin.INSTANCE;
    }

    /** All live nodes: the chunks of the LMR are dealt to them in turn. */
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
     * @param nodes node names, at least one, none blank
     */
    record OnNodes(List<String> nodes) implements Placement {
        public OnNodes {
            nodes = List.copyOf(nodes);
            if (nodes.isEmpty()) {
                throw new IllegalArgumentException("a placement on nodes names no node; it needs at least 1");
            }
            if (nodes.stream().anyMatch(String::isBlank)) {
                throw new IllegalArgumentException("a placement on nodes has a blank node name: " + nodes);
            }
        }
    }
}

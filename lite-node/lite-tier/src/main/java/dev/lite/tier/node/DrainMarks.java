package dev.lite.tier.node;

import java.util.Set;

/**
 * Which nodes are being drained, so that nothing new is placed there. What the directory says of them may be heard late; a node
 * that moves its memory away also refuses by itself. Any thread.
 */
final class DrainMarks {
    private volatile Set<String> draining = Set.of();
    private volatile boolean closed;

    /** What the directory says now. */
    void heard(Set<String> names) {
        draining = Set.copyOf(names);
    }

    /** Whether a node is to be left alone, as last heard. */
    boolean isDraining(String node) {
        return draining.contains(node);
    }

    /** From now on this node's arena takes nothing new. */
    void close() {
        closed = true;
    }

    /** The end of {@link #close}. */
    void reopen() {
        closed = false;
    }

    /** Whether this node's arena takes nothing new. */
    boolean isClosed() {
        return closed;
    }
}

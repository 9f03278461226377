package dev.lite.tier.lmr;

import java.util.Set;

/**
 * Which nodes are being drained, so that nothing new is placed there. What the directory says of them may arrive late; a node
 * that moves its memory away also refuses by itself. Any thread.
 */
public final class DrainMarks {
    private volatile Set<String> draining = Set.of();
    private volatile boolean closed;

    /** What the directory says now. */
    public void update(Set<String> names) {
        draining = Set.copyOf(names);
    }

    /** Whether a node is to be left alone, as last reported. */
    public boolean isDraining(String node) {
        return draining.contains(node);
    }

    /** From now on this node's arena takes nothing new. */
    public void close() {
        closed = true;
    }

    /** The end of {@link #close}. */
    public void reopen() {
        closed = false;
    }

    /** Whether this node's arena takes nothing new. */
    public boolean isClosed() {
        return closed;
    }
}

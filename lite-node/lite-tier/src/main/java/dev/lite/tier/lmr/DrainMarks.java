package dev.lite.tier.lmr;

import java.util.Set;

/**
 * The nodes that are being drained; they get no new memory. Reports from the directory may arrive late, so a node that
 * moves its memory away also refuses new memory itself. Any thread.
 */
public final class DrainMarks {
    private volatile Set<String> draining = Set.of();
    private volatile boolean closed;

    /** Sets the draining nodes that the directory reports now. */
    public void update(Set<String> names) {
        draining = Set.copyOf(names);
    }

    /** Whether a node is being drained, by the last report. */
    public boolean isDraining(String node) {
        return draining.contains(node);
    }

    /** Closes this node's arena to new memory. */
    public void close() {
        closed = true;
    }

    /** Reverts {@link #close}. */
    public void reopen() {
        closed = false;
    }

    /** Whether this node's arena takes no new memory. */
    public boolean isClosed() {
        return closed;
    }
}

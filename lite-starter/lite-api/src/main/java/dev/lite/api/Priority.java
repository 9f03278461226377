package dev.lite.api;

import java.util.Objects;

/**
 * The class of a session, a handle or a call (paper §6.2). A node that shares a bottleneck among its applications prefers {@link
 * #HIGH}. LITE's own traffic comes before both.
 *
 * <p>The node's configuration gives a principal its priority; without one it is {@link #HIGH}. An application may lower the priority of
 * a handle or a call, but never raises it above that of its principal.
 */
public enum Priority {
    /** The default. */
    HIGH,
    /** For work that can wait. */
    LOW;

    /** The lower one of two. */
    public Priority atMost(Priority limit) {
        return this == LOW || Objects.requireNonNull(limit, "limit") == LOW ? LOW : HIGH;
    }
}

package dev.lite.api;

import java.util.Objects;

/**
 * The priority of a session, a handle or a call (paper §6.2). Where applications compete, a node prefers {@link #HIGH}. LITE's own
 * traffic comes before both.
 *
 * <p>The node's configuration gives each principal its priority; the default is {@link #HIGH}. An application may lower the priority of
 * a handle or a call, but cannot raise it above that of its principal.
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

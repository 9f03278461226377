package dev.lite.tier.session;

import dev.lite.tier.TierSession;

/** What the sessions are served from: the tier. Any thread. */
public interface SessionBackend {

    /** The node's name. */
    String nodeName();

    /**
     * Opens the tier for an application that was admitted. The session server closes it exactly once.
     *
     * @param principal who the application was found to be
     * @param application what it calls itself; for logs, it gives no rights
     * @throws dev.lite.api.LiteException when the node does not take it; the application is told the message
     */
    TierSession open(String principal, String application);
}

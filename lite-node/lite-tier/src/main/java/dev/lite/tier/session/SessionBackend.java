package dev.lite.tier.session;

import dev.lite.tier.TierSession;
import dev.lite.tier.channel.NodeChannels;
import org.jspecify.annotations.Nullable;

/** The tier behind the sessions. Any thread. */
public interface SessionBackend {

    /** The node's name. */
    String nodeName();

    /**
     * Opens a tier session for an admitted application. The session server closes it exactly once.
     *
     * @param principal the application's principal
     * @param application the application's own name, for logs; it grants no rights
     * @throws dev.lite.api.LiteException when the node refuses the application, which gets the message
     */
    TierSession open(String principal, String application);

    /** How many reads and writes of a session may be under way through a fabric at a time; at least 1. */
    int transfersMax();

    /** The channels of the node's applications; null if the tier has none. */
    default @Nullable NodeChannels channels() {
        return null;
    }
}

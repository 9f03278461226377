package dev.lite.tier.sync;

import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.NameRules;
import dev.lite.tier.TierSync;
import dev.lite.tier.node.LiteNode;

/** Sessions that may use fewer locks and barriers than others. */
public final class FewNames {
    private FewNames() {}

    /** The locks and barriers of a new session, which may use so many of each at a time. {@link #close} must follow. */
    public static TierSync session(LiteNode node, int namesMax) {
        return Inside.field(node, "sync", SyncService.class)
                .session("few names", "few", Waits.seconds(20), NameRules.ALL, namesMax);
    }

    /** Ends a session. */
    public static void close(TierSync session) {
        ((SessionSync) session).close();
    }
}

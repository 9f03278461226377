package dev.lite.tier.session;

import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * A session as an operator sees it.
 *
 * @param id the session's number at this node; never reused while the node runs
 * @param pid the application's process id, as this process sees it
 * @param uid the application's user id
 * @param principal the application's principal
 * @param application the application's own name
 * @param handles the number of its handles
 * @param since when it attached
 * @param locks names of locks that it holds, at most {@value #LOCKS_MAX}
 * @param operations what it has asked the node for; calls through channels between applications are missing
 */
public record SessionInfo(
        long id,
        int pid,
        int uid,
        String principal,
        String application,
        int handles,
        Instant since,
        List<String> locks,
        Map<Kind, Count> operations) {
    /** How many locks are shown. */
    public static final int LOCKS_MAX = 1000;
}

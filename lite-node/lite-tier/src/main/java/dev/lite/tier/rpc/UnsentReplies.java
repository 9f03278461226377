package dev.lite.tier.rpc;

import dev.lite.api.LiteException;
import dev.lite.api.SessionLostException;
import dev.lite.os.waiting.Polling;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Calls whose reply could not be sent: the node has no memory for it, or their caller's node has not read for long. */
public final class UnsentReplies {
    private static final Logger log = LoggerFactory.getLogger(UnsentReplies.class);
    private static final long PAUSE_NS = 10_000_000;
    private static final long PAUSE_NS_MAX = 1_000_000_000;

    private UnsentReplies() {}

    /** The message with which such a call fails. */
    public static String text(Throwable why) {
        return "its reply could not be sent: " + (why instanceof LiteException ? why.getMessage() : why);
    }

    /**
     * Fails such a call as soon as that is possible. Returns when it has failed or was answered, or when its caller has stopped
     * waiting. May block that long.
     *
     * @param attempt fails the call, or drops that if nobody waits; throws {@link LiteException} if it is not possible yet, and {@link
     *     IllegalStateException} if the call was answered
     * @param over whether somebody else fails the call
     */
    public static void fail(Runnable attempt, BooleanSupplier over) {
        long pauseNs = PAUSE_NS;
        while (!over.getAsBoolean()) {
            try {
                attempt.run();
                return;
            } catch (IllegalStateException | SessionLostException e) {
                log.debug("a call needs not fail any more", e);
                return;
            } catch (LiteException e) {
                Polling.sleepNs(pauseNs);
                pauseNs = Math.min(2 * pauseNs, PAUSE_NS_MAX);
            }
        }
    }
}

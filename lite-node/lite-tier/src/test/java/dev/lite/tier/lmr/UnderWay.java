package dev.lite.tier.lmr;

import dev.lite.testing.Inside;
import dev.lite.tier.node.LiteNode;
import java.time.Duration;

/** Work on memory that stays under way for as long as a test wants. */
public final class UnderWay {
    private UnderWay() {}

    /** Sets how long a node waits for such work before a session ends without it. */
    public static void setEndMax(LiteNode node, Duration longest) {
        Inside.field(node, "lmrs", LmrServices.class).changes().setEndMax(longest);
    }

    /** Runs as a copy that a node makes for itself. */
    public static void asOwnWork(LiteNode node, Runnable copy) {
        Inside.field(Inside.field(node, "lmrs", LmrServices.class), "localWork", LocalWork.class)
                .asOwn(node.self().incarnation(), copy);
    }
}

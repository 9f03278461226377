package dev.lite.tier.lmr;

import dev.lite.testing.Inside;
import dev.lite.tier.node.LiteNode;

/** Work on memory that stays under way for as long as a test wants. */
public final class UnderWay {
    private UnderWay() {}

    /** Runs as a copy that a node makes for itself. */
    public static void asOwnWork(LiteNode node, Runnable copy) {
        Inside.field(Inside.field(node, "lmrs", LmrServices.class), "localWork", LocalWork.class)
                .asOwn(node.self().incarnation(), copy);
    }
}

package dev.lite.tier.lmr;

import dev.lite.api.LmrUnavailableException;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.memory.Layout;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.PeerLinks;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The places of LMR chunks, as this node reaches them. Any thread; waits for connections up to the deadline. */
public final class LmrPlaces {
    private final int self;
    private final NodeArena arena;
    private final PeerLinks links;

    LmrPlaces(int self, NodeArena arena, PeerLinks links) {
        this.self = self;
        this.arena = arena;
        this.links = links;
    }

    /** See {@link Layout#places}. */
    long[] of(LmrRecord lmr, Deadline deadline) {
        return Layout.places(lmr, node -> mappedBase(node, deadline));
    }

    private long mappedBase(int node, Deadline deadline) {
        return node == self
                ? arena.address()
                : links.awaitOwner(node, deadline).endpoint().mappedAddress();
    }

    /**
     * Checks that every node with a part of an LMR still has the arena of that part.
     *
     * @throws LmrUnavailableException if a node has another arena now
     */
    void requireArenas(LmrRecord lmr, @Nullable String name, Deadline deadline) {
        for (Share share : lmr.shares()) {
            UUID there = share.node() == self
                    ? arena.id()
                    : links.awaitOwner(share.node(), deadline).hello().arenaId();
            if (!there.equals(share.arena())) {
                throw new LmrUnavailableException("%s: node %s restarted with a new arena; its old data is lost"
                        .formatted(
                                name != null ? "LMR \"%s\"".formatted(name) : "anonymous LMR " + lmr.id(),
                                nodeName(share.node())));
            }
        }
    }

    /** See {@link PeerLinks#nameOf}. */
    public String nodeName(int node) {
        return links.nameOf(node);
    }
}

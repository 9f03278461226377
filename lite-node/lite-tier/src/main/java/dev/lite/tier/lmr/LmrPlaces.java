package dev.lite.tier.lmr;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.Permission;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.memory.Layout;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import java.time.Duration;
import java.util.List;
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

    /**
     * See {@link Layout#places}. The part on a node that is away has no address here: its operations go through the fabric, and
     * wait for the node as long as each may.
     */
    long[] of(LmrRecord lmr, Deadline deadline) {
        return Layout.places(lmr, node -> mappedBase(lmr, node, deadline));
    }

    private long mappedBase(LmrRecord lmr, int node, Deadline deadline) {
        if (node == self) {
            return arena.address();
        }
        Peer owner = owner(node, deadline);
        // It may still be the connection to the node's former process, which had another arena.
        return owner == null || !isIn(lmr, node, owner.hello().arenaId())
                ? 0
                : owner.endpoint().mappedAddress();
    }

    /** Whether a handle with these rights reads or changes data. One with MASTER alone does not, and can free an LMR whose data is lost. */
    static boolean needsData(int granted) {
        return granted != Permission.MASTER.bit();
    }

    /** Whether all parts of an LMR that lie on a node are in this arena of it. */
    static boolean isIn(LmrRecord lmr, int node, UUID arenaId) {
        return lmr.shares().stream()
                .allMatch(share -> share.node() != node || share.arena().equals(arenaId));
    }

    /**
     * Checks that every node with a part of an LMR still has the arena of that part. A node that is away is not checked: each
     * operation checks it when the node is back.
     *
     * @throws LmrUnavailableException if a node has another arena now
     */
    void requireArenas(LmrRecord lmr, @Nullable String name, Deadline deadline) {
        requireArenas(lmr.id(), lmr.shares(), name, deadline);
    }

    /** {@link #requireArenas(LmrRecord, String, Deadline)} for some parts of an LMR. */
    void requireArenas(long lmrId, List<Share> shares, @Nullable String name, Deadline deadline) {
        for (Share share : shares) {
            UUID there = share.node() == self ? arena.id() : arenaOf(owner(share.node(), deadline));
            if (there != null && !there.equals(share.arena())) {
                throw new LmrUnavailableException("%s: node %s restarted with a new arena; its old data is lost"
                        .formatted(describe(lmrId, name), nodeName(share.node())));
            }
        }
    }

    /** An LMR, for messages. */
    static String describe(long lmrId, @Nullable String name) {
        return name != null ? "LMR \"%s\"".formatted(name) : "anonymous LMR " + lmrId;
    }

    /** The shares that are not among the others. */
    static List<Share> without(List<Share> shares, List<Share> others) {
        return shares.stream().filter(share -> !others.contains(share)).toList();
    }

    private static @Nullable UUID arenaOf(@Nullable Peer owner) {
        return owner == null ? null : owner.hello().arenaId();
    }

    /**
     * The node's connection. Waits for a node that is expected back, but no longer than half of the time, so that an LMR can be
     * mapped while one of its nodes is away.
     *
     * @return null if the node is away
     */
    private @Nullable Peer owner(int node, Deadline deadline) {
        Peer connected = links.peer(node);
        if (connected != null || links.isAway(node)) {
            return connected;
        }
        try {
            return links.awaitOwner(node, Deadline.in(Duration.ofNanos(deadline.remainingNs() / 2)));
        } catch (LmrUnavailableException | LiteTimeoutException away) {
            return null;
        }
    }

    /** See {@link PeerLinks#nameOf}. */
    public String nodeName(int node) {
        return links.nameOf(node);
    }
}

package dev.lite.tier.channel;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LimitExceededException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.tier.FairShares;
import dev.lite.tier.peer.Peer;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The ends of channels at a node, {@linkplain FairShares divided} among the principals of their applications. Any thread; never blocks. */
final class ChannelTable {
    /** Ends that were ended before they were kept. An open comes milliseconds later at most, so the oldest are forgotten. */
    private static final int ENDED_EARLY_MAX = 1024;

    private final String node;
    private final FairShares places;

    @GuardedBy("this")
    private final Map<Key, ChannelEnd> ends = new HashMap<>();

    /** Oldest first. */
    @GuardedBy("this")
    private final Set<Key> endedEarly = new LinkedHashSet<>();

    @GuardedBy("this")
    private boolean closed;

    /**
     * An end.
     *
     * @param peer the connection to the node of the other end; null if that is this node
     * @param tag the channel's, chosen by the caller's node
     * @param caller whether it is the caller's end
     */
    record Key(@Nullable Peer peer, long tag, boolean caller) {
        static Key of(ChannelEnd end) {
            return new Key(end.peer, end.tag, end.isCaller());
        }
    }

    ChannelTable(String node, int endsMax) {
        this.node = node;
        places = new FairShares(endsMax);
    }

    /**
     * Keeps a new end.
     *
     * @throws LimitExceededException at the limit of all or of the principal
     * @throws RpcFailedException if the end was ended already, or the table is closed
     */
    synchronized void keep(ChannelEnd end) {
        Key key = Key.of(end);
        if (closed) {
            throw new RpcFailedException(RpcStatus.REFUSED, "node %s is stopping".formatted(node));
        }
        if (endedEarly.remove(key)) {
            throw new RpcFailedException(RpcStatus.CANCELLED, NodeChannels.CALLER_GONE);
        }
        if (ends.containsKey(key)) {
            throw new RpcFailedException(
                    RpcStatus.REFUSED, "node %s has a channel with the tag %d already".formatted(node, end.tag));
        }
        FairShares.Share share = shareOf(end);
        if (!share.take()) {
            throw new LimitExceededException(
                    ends.size() >= places.max()
                            ? "the applications of node %s have %d ends of channels; the limit is %d"
                                    .formatted(node, ends.size(), places.max())
                            : "ends of channels of node %s: %s".formatted(node, share.describe()));
        }
        ends.put(key, end);
    }

    private FairShares.Share shareOf(ChannelEnd end) {
        return places.share(end.session.principal);
    }

    synchronized void forget(ChannelEnd end) {
        if (ends.remove(Key.of(end), end)) {
            shareOf(end).giveBack();
        }
    }

    synchronized @Nullable ChannelEnd find(Key key) {
        return ends.get(key);
    }

    /** Another node ends this end. Returns null if it is not known; a server's end will then be refused. */
    synchronized @Nullable ChannelEnd findOrRefuse(Key key) {
        ChannelEnd end = ends.get(key);
        if (end == null && !key.caller()) {
            if (endedEarly.size() == ENDED_EARLY_MAX) {
                endedEarly.remove(endedEarly.iterator().next());
            }
            endedEarly.add(key);
        }
        return end;
    }

    /** A connection was lost. Returns its ends; {@link #forget} must follow. */
    synchronized List<ChannelEnd> lost(Peer peer) {
        endedEarly.removeIf(key -> key.peer() == peer);
        return ends.values().stream().filter(end -> end.peer == peer).toList();
    }

    /** All ends. */
    synchronized List<ChannelEnd> all() {
        return List.copyOf(ends.values());
    }

    /** Refuses new ends. Returns all. */
    synchronized List<ChannelEnd> close() {
        closed = true;
        return List.copyOf(ends.values());
    }
}

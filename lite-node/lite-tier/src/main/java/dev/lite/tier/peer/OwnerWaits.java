package dev.lite.tier.peer;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Durations;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** How operations on memory wait for the node that owns it. Any thread. */
final class OwnerWaits {
    private static final long CHECK_NS = TimeUnit.MILLISECONDS.toNanos(200);

    private final PeerTable peers;
    private final Absences absences;
    private final IntPredicate isLive;

    /** @param isLive whether a node is in the cluster */
    OwnerWaits(PeerTable peers, Absences absences, IntPredicate isLive) {
        this.peers = peers;
        this.absences = absences;
        this.isLive = isLive;
    }

    /** {@link PeerLinks#awaitOwner}. */
    Peer await(int node, @Nullable Supplier<@Nullable String> notWanted, Deadline deadline) {
        while (true) {
            // A node that is live may leave meanwhile; then it is waited for as long as any other one that has left.
            long waitNs = isLive.test(node) ? CHECK_NS : Math.min(CHECK_NS, absences.waitNs(node));
            Deadline check = deadline.atMost(Duration.ofNanos(waitNs));
            try {
                return peers.await(node, check);
            } catch (NodeUnreachableException e) {
                if (!check.passed()) {
                    throw e;
                }
                boolean live = isLive.test(node);
                if (live && deadline.passed()) {
                    throw new LiteTimeoutException(
                            deadline.expired("memory on node %s (%s)".formatted(peers.nameOf(node), e.getMessage())));
                }
                if (!live && (deadline.passed() || absences.waitNs(node) == 0)) {
                    throw lost(node, deadline, e);
                }
                requireWanted(notWanted, e);
            }
        }
    }

    private static void requireWanted(@Nullable Supplier<@Nullable String> notWanted, NodeUnreachableException cause) {
        String why = notWanted == null ? null : notWanted.get();
        if (why != null) {
            throw new LmrUnavailableException("%s (%s)".formatted(why, cause.getMessage()), cause);
        }
    }

    private LmrUnavailableException lost(int node, Deadline deadline, NodeUnreachableException cause) {
        String waited = deadline.passed()
                ? "waited for " + deadline
                : "it left the cluster %s ago".formatted(Durations.text(absences.awayNs(node)));
        return new LmrUnavailableException(
                "node %s is lost, and its memory until it restarts; %s (%s)"
                        .formatted(peers.nameOf(node), waited, cause.getMessage()),
                cause);
    }
}

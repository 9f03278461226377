package dev.lite.simulate.tier;

import dev.lite.tier.node.LiteNode;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Moves counters of the tier to just below the place where they end or begin anew, and looks into what the tier keeps. All of it
 * happens between two steps.
 */
public final class Limits {
    private static final long LMR_IDS = 1L << 30;
    private static final int LEFT = 12;

    private Limits() {}

    /** The block of LMR ids of this process ends soon. */
    public static void nearLastLmrId(LiteNode node) {
        Object ids = Internals.get(Internals.get(Internals.get(node, "lmrs"), "records"), "ids");
        ((AtomicLong) Internals.get(Internals.get(ids, "block"), "used")).set(LMR_IDS - LEFT);
    }

    /** Rings of a connection that is gone, in words; null if there are none. */
    public static @Nullable String deadRings(Member member) {
        PeerLinks links = (PeerLinks) Internals.get(member.node(), "links");
        Object rings = Internals.get(Internals.get(member.node(), "rpc"), "rings");
        for (Object key : ((Map<?, ?>) Internals.get(rings, "connections")).keySet()) {
            if (key instanceof Peer peer && links.peer(peer.id()) != peer) {
                return "node %s keeps rings of a connection to node %s that ended"
                        .formatted(member.name(), peer.hello().node());
            }
        }
        return null;
    }
}

package dev.lite.simulate.tier;

import dev.lite.tier.memory.Mapping;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.sync.SyncWord;
import java.lang.reflect.Array;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Moves counters of the tier to just below the place where they end or begin anew, and looks into what the tier keeps. All of it
 * happens between two steps.
 */
public final class Limits {
    private static final long LMR_IDS = 1L << 30;
    private static final int LEFT = 12;
    private static final int GENERATIONS = 0xffff;
    private static final int TICKET_SHIFT = 20;
    private static final int STATES = 0xf; // of a slot's state: the rest counts

    /** Incarnations below this have a block of LMR ids of their own; later ones take one from the directory. */
    static final long OWN_ID_BLOCKS = 1L << 21;

    private Limits() {}

    /** The block of LMR ids of this process ends soon; one that has ended already must not begin again. */
    public static void nearLastLmrId(LiteNode node) {
        Object ids = Internals.get(Internals.get(Internals.get(node, "lmrs"), "records"), "ids");
        AtomicLong used = (AtomicLong) Internals.get(Internals.get(ids, "block"), "used");
        used.updateAndGet(count -> Math.max(count, LMR_IDS - LEFT));
    }

    /** The generations of bindings of functions begin anew soon. */
    static void nearLastGeneration(LiteNode node) {
        Object bindings = Internals.get(Internals.get(node, "rpc"), "bindings");
        Internals.set(bindings, "generation", GENERATIONS - 3);
    }

    /** The next ticket of a free lock that this node uses is just below this one. Does nothing while it is taken. */
    public static void nearTicket(LiteNode node, String lock, long ticket) {
        Object names = Internals.get(Internals.get(node, "sync"), "locks");
        Object entry = ((Map<?, ?>) Internals.get(names, "byName")).get(lock);
        if (entry != null) {
            Mapping word = ((SyncWord) Internals.get(Internals.get(entry, "object"), "word")).mapping();
            long seen = word.fetchAdd(0, 0);
            long next = (ticket - LEFT) << TICKET_SHIFT;
            if (seen < next && (seen & ((1L << TICKET_SHIFT) - 1)) == 0) {
                long unused = word.testSet(0, seen, next);
            }
        }
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

    /**
     * What a node still has of functions and ports that nobody serves any more, in words; null if there is nothing.
     *
     * @param ended what the names of principals whose sessions have ended begin with
     */
    public static @Nullable String leftOfServers(Member member, String ended) {
        Object rpc = Internals.get(member.node(), "rpc");
        int served = 0;
        for (Map.Entry<?, ?> function : ((Map<?, ?>) Internals.get(rpc, "functions")).entrySet()) {
            Object principal = Internals.getOrNull(function.getValue(), "principal");
            if (principal != null) {
                served++;
                if (((String) principal).startsWith(ended)) {
                    return "node %s serves %s for a session that has ended".formatted(member.name(), function.getKey());
                }
            }
        }
        int places = (int) Internals.get(Internals.get(rpc, "served"), "taken");
        if (places != served) {
            return "node %s serves %d functions, and %d places are taken".formatted(member.name(), served, places);
        }
        long bytes = (long) Internals.get(Internals.get(rpc, "portMemory"), "held");
        return bytes == 0 ? null : "node %s keeps %d bytes of messages".formatted(member.name(), bytes);
    }

    /** Slots of calls and buffers of transfers that a node has not got back, in words; null if there are none. */
    public static @Nullable String leftOfOperations(Member member) {
        Object slots = Internals.get(Internals.get(member.node(), "rpc"), "slots");
        AtomicReferenceArray<?> all = (AtomicReferenceArray<?>) Internals.get(slots, "slots");
        for (int i = 0; i < all.length(); i++) {
            Object slot = all.get(i);
            int state = slot == null ? 0 : (int) Internals.get(slot, "state") & STATES;
            if (state != 0) {
                return "node %s has a slot of calls in state %d, which is not free".formatted(member.name(), state);
            }
        }
        Object buffers = Internals.get(Internals.get(Internals.get(member.node(), "posted"), "buffers"), "buffers");
        for (int i = 0; i < Array.getLength(buffers); i++) {
            Object buffer = Array.get(buffers, i);
            int state = ((AtomicInteger) Internals.get(buffer, "state")).get();
            if (state != (int) Internals.get(buffer, "FREE")) {
                return "node %s has a buffer of transfers in state %d, which is not free"
                        .formatted(member.name(), state);
            }
        }
        return null;
    }
}

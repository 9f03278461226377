package dev.lite.simulate.tier;

import dev.lite.os.RawMemory;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Moves counters of the tier to just below the place where they end or begin anew, and looks into what the tier keeps. All of it
 * happens between two steps.
 */
public final class Limits {
    private static final long LMR_IDS = (1L << 31) - 1;
    private static final long RING_BYTES = 16 << 10;
    private static final long POSITIONS = 1L << 48;
    private static final int LEFT = 12;

    private Limits() {}

    /** The next ids of LMRs of this process are the last ones. */
    public static void nearLastLmrId(LiteNode node) {
        Object records = Internals.get(Internals.get(node, "lmrs"), "records");
        ((AtomicLong) Internals.get(records, "count")).set(LMR_IDS - LEFT);
    }

    /** The rings for calls between running nodes go on at positions just below their end. */
    public static void nearLastRingPosition(List<Member> members) {
        for (Member server : members) {
            for (Object ring : rings(server)) {
                Member client = members.stream()
                        .filter(member -> member.state() == Member.State.UP
                                && member.node().self().id() == peer(ring).id())
                        .findFirst()
                        .orElse(null);
                if (client != null) {
                    shift(ring, client);
                }
            }
        }
    }

    private static void shift(Object ring, Member client) {
        Object bindings = Internals.get(Internals.get(client.node(), "rpc"), "bindings");
        long headOffset = (long) Internals.get(ring, "callerHeadOffset");
        for (Object holder : ((Map<?, ?>) Internals.get(bindings, "holders")).values()) {
            Object binding = Internals.getOrNull(holder, "current");
            if (binding == null
                    || (long) Internals.get(binding, "headOffset") != headOffset
                    || (long) Internals.get(binding, "generation") << 48 != (long) Internals.get(ring, "generation")
                    || (long) Internals.get(ring, "head") > POSITIONS / 2) {
                continue;
            }
            long add = POSITIONS - 4 * RING_BYTES;
            ((AtomicLong) Internals.get(binding, "tail")).addAndGet(add);
            long reported = (long) Internals.get(ring, "reported") + add;
            set(ring, "head", (long) Internals.get(ring, "head") + add);
            set(ring, "reported", reported);
            long word = (long) Internals.get(ring, "generation") | (reported & (POSITIONS - 1));
            RawMemory.putLong((long) Internals.get(ring, "prefix"), word);
            RawMemory.putLong(((NodeArena) Internals.get(client.node(), "arena")).address() + headOffset, word);
        }
    }

    /** Rings of connections that are gone, in words. */
    public static @Nullable String deadRings(Member member) {
        PeerLinks links = (PeerLinks) Internals.get(member.node(), "links");
        for (Object ring : rings(member)) {
            Peer peer = peer(ring);
            if (links.peer(peer.id()) != peer) {
                return "node %s keeps ring %s of a connection to node %s that ended"
                        .formatted(member.name(), Internals.get(ring, "id"), peer.hello().node());
            }
        }
        return null;
    }

    private static Peer peer(Object ring) {
        return (Peer) Internals.get(ring, "peer");
    }

    private static List<Object> rings(Member member) {
        List<Object> rings = new ArrayList<>();
        if (member.state() != Member.State.UP) {
            return rings;
        }
        AtomicReferenceArray<?> byPeer = (AtomicReferenceArray<?>)
                Internals.get(Internals.get(Internals.get(member.node(), "rpc"), "rings"), "rings");
        for (int peer = 0; peer < byPeer.length(); peer++) {
            Object ofPeer = byPeer.get(peer);
            if (ofPeer instanceof Object[] all) {
                for (Object ring : all) {
                    if (ring != null) {
                        rings.add(ring);
                    }
                }
            }
        }
        return rings;
    }

    private static void set(Object owner, String name, long value) {
        try {
            Field field = owner.getClass().getDeclaredField(name);
            field.setAccessible(true);
            field.setLong(owner, value);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(owner.getClass() + " has no field " + name, e);
        }
    }
}

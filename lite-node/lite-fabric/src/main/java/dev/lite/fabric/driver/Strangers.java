package dev.lite.fabric.driver;

import dev.lite.os.HostNetwork;
import java.net.InetAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The accepted lanes whose peers have not proved yet that they know the secret. Any thread.
 *
 * <p><b>Bounds.</b> Addresses from which a peer has proved it before have places of their own, as many as all others together. Within
 * both halves, an address gets a place only while it has fewer than are free. When there is none for it, its own oldest lane ends: a
 * node sends its handshake at once, so the oldest one is the most likely to send nothing. If it has none, the oldest of the address
 * with the most ends.
 */
final class Strangers {
    private static final int PROVEN_MAX = 4096;

    private final int max;

    // All are guarded by this object.
    private final Half known = new Half();
    private final Half unknown = new Half();

    /** The last one to prove it is the last one here. */
    private final Set<String> proven = new LinkedHashSet<>();

    private static final class Half {
        final Map<String, Deque<Place>> byAddress = new HashMap<>();
        int taken;
    }

    /** A place of one lane. */
    final class Place {
        private final String address;
        private final Half half;
        private final Runnable interrupt;

        private Place(String address, Half half, Runnable interrupt) {
            this.address = address;
            this.half = half;
            this.interrupt = interrupt;
        }

        /** Its peer has proved that it knows the secret. */
        void proved() {
            synchronized (Strangers.this) {
                if (!address.isEmpty()) {
                    proven.remove(address);
                    proven.add(address);
                }
                if (proven.size() > PROVEN_MAX) {
                    proven.remove(proven.iterator().next());
                }
            }
            leave();
        }

        /** Gives the place back; a second call does nothing. */
        void leave() {
            synchronized (Strangers.this) {
                remove(this);
            }
        }
    }

    /** @param max the number of places in each half */
    Strangers(int max) {
        this.max = max;
    }

    /**
     * Takes a place.
     *
     * @param from the address of the peer, or null if the driver does not know it: then no lane ends for another one
     * @param interrupt ends the lane's handshake, when its place is needed; must not block
     * @return the place, and the one that had to end for it; null if there is none
     */
    @Nullable
    Entered enter(@Nullable InetAddress from, Runnable interrupt) {
        String address = from == null ? "" : HostNetwork.of(from);
        Place ended = null;
        Place place;
        synchronized (this) {
            Half half = proven.contains(address) ? known : unknown;
            Deque<Place> own = half.byAddress.get(address);
            if (from == null && half.taken >= max) {
                return null;
            }
            if (from != null && (half.taken >= max || (own != null && own.size() >= max - half.taken))) {
                ended = oldest(half, own);
                remove(ended);
            }
            place = new Place(address, half, interrupt);
            half.byAddress.computeIfAbsent(address, any -> new ArrayDeque<>()).add(place);
            half.taken++;
        }
        return new Entered(place, ended == null ? null : ended.interrupt);
    }

    /**
     * A place that was taken.
     *
     * @param interruptOther ends the lane whose place it was; the caller runs it. Null: it was free
     */
    record Entered(Place place, @Nullable Runnable interruptOther) {}

    private static Place oldest(Half half, @Nullable Deque<Place> own) {
        Deque<Place> from = own;
        if (from == null) {
            for (Deque<Place> other : half.byAddress.values()) {
                from = from == null || other.size() > from.size() ? other : from;
            }
        }
        if (from == null) {
            throw new IllegalStateException("all places are taken, but by no address");
        }
        return from.getFirst();
    }

    /** Called under the lock. */
    private void remove(Place place) {
        Deque<Place> its = place.half.byAddress.get(place.address);
        if (its != null && its.remove(place)) {
            place.half.taken--;
            if (its.isEmpty()) {
                place.half.byAddress.remove(place.address);
            }
        }
    }
}

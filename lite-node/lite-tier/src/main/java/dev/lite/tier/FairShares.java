package dev.lite.tier;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.HashMap;
import java.util.Map;

/**
 * Divides a limited number of places among owners, such as principals. An owner gets one more place only while it has fewer than are
 * free. So one owner takes at most half of them, a second one half of the rest, and there is a place for the next one.
 *
 * <p>Limits below {@value #DIVIDED_MIN} are not divided. Any thread. Memory: an entry for each owner that has a place.
 */
public final class FairShares {
    /** The smallest limit that is divided. */
    public static final int DIVIDED_MIN = 8;

    private final int max;

    @GuardedBy("this")
    private final Map<String, Integer> byOwner = new HashMap<>();

    @GuardedBy("this")
    private int taken;

    /** @param max the number of places; 0: nobody gets one */
    public FairShares(int max) {
        this.max = max;
    }

    /**
     * Whether an owner may take one more.
     *
     * @param own what the owner has
     * @param taken what all owners have
     * @param max the limit of all owners
     */
    public static boolean allows(long own, long taken, long max) {
        return taken < max && (max < DIVIDED_MIN || own < max - taken);
    }

    /**
     * Takes a place.
     *
     * @return whether there was one; then {@link #giveBack} must follow
     */
    public synchronized boolean take(String owner) {
        int own = of(owner);
        if (!allows(own, taken, max)) {
            return false;
        }
        byOwner.put(owner, own + 1);
        taken++;
        return true;
    }

    /** Gives a place back. */
    public synchronized void giveBack(String owner) {
        int own = of(owner);
        if (own == 0) {
            throw new IllegalStateException("%s has no place to give back".formatted(owner));
        }
        taken--;
        if (own == 1) {
            byOwner.remove(owner);
        } else {
            byOwner.put(owner, own - 1);
        }
    }

    /** The places of one owner. */
    public Share share(String owner) {
        return new Share(this, owner);
    }

    /**
     * The places of one owner. Any thread.
     *
     * @param places all places
     * @param owner whose places they are
     */
    public record Share(FairShares places, String owner) {
        /** {@link FairShares#take} for the owner. */
        public boolean take() {
            return places.take(owner);
        }

        /** {@link FairShares#giveBack} for the owner. */
        public void giveBack() {
            places.giveBack(owner);
        }

        /** What the owner and all owners have, and what all may have, for messages. */
        public String describe() {
            return "\"%s\" has %d of %d; all may have %d, and one principal as many as it leaves free"
                    .formatted(owner, places.of(owner), places.taken(), places.max());
        }
    }

    /** What all owners may have. */
    public int max() {
        return max;
    }

    /** What an owner has. */
    public synchronized int of(String owner) {
        return byOwner.getOrDefault(owner, 0);
    }

    /** What all owners have. */
    public synchronized int taken() {
        return taken;
    }
}

package dev.lite.tier.sync;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The locks, or the barriers, that one session uses, by name. Each counts at the node until it leaves. An idle one leaves when the room
 * is needed; its next use opens it again by its name. Any thread.
 *
 * @param <U> {@link LockUser} or {@link BarrierUser}
 */
final class UsedNames<U extends UsedNames.User> {
    /** So much of the limit makes room at once. */
    private static final int PART = 64;

    private final int max;
    private final Consumer<String> leave;
    private final Map<String, U> byName = new ConcurrentHashMap<>();

    /** Goes round: each one is looked at as often as the others. */
    @GuardedBy("this")
    private Iterator<U> hand = Collections.emptyIterator();

    /** A session's use of a lock or a barrier. */
    interface User {
        /** The name of the lock or barrier. */
        String name();

        /** Gives it up if no thread of this node holds it or waits. Returns whether this call did; nobody can use it then. */
        boolean giveUp();

        /** Whether it was given up. */
        boolean isGivenUp();
    }

    /** @param leave tells the node that the session no longer uses a name; it may block */
    UsedNames(int max, Consumer<String> leave) {
        this.max = max;
        this.leave = leave;
    }

    int max() {
        return max;
    }

    int size() {
        return byName.size();
    }

    Collection<U> all() {
        return byName.values();
    }

    /** The one with this name; null if there is none, or it was given up. */
    @Nullable
    U find(String name) {
        U known = byName.get(name);
        return known == null || known.isGivenUp() ? null : known;
    }

    /** Adds one. Returns it, or the one that another thread added first: then this one leaves, because a session counts once. */
    synchronized U add(U made) {
        U first = byName.putIfAbsent(made.name(), made); // not one that was given up: it is removed under the monitor
        if (first == null) {
            return made;
        }
        leave.accept(made.name());
        return first;
    }

    /** Puts one in the place of another one, whose word is dead; false if that is not in use any more. */
    boolean replace(U dead, U made) {
        return byName.replace(dead.name(), dead, made);
    }

    /** Lets one leave; false if it has left. */
    boolean remove(U user) {
        boolean removed = byName.remove(user.name(), user);
        if (removed) {
            leave.accept(user.name());
        }
        return removed;
    }

    /** Whether one more has room, after idle ones have left. */
    boolean makeRoom() {
        while (byName.size() >= max) {
            if (!giveUpSome()) {
                return byName.size() < max;
            }
        }
        return true;
    }

    /** Lets some leave that are idle; false if there is none. */
    synchronized boolean giveUpSome() {
        int wanted = Math.max(1, max / PART);
        int left = 0;
        // The hand may stand anywhere and may have read ahead: so many steps include one whole round.
        for (int toLookAt = 2 * byName.size() + 1; toLookAt > 0 && left < wanted; toLookAt--) {
            if (!hand.hasNext()) {
                hand = byName.values().iterator();
                if (!hand.hasNext()) {
                    break;
                }
            }
            U user = hand.next();
            if (user.giveUp() && remove(user)) {
                left++;
            }
        }
        return left > 0;
    }
}

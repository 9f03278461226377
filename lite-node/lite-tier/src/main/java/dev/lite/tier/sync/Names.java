package dev.lite.tier.sync;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LimitExceededException;
import dev.lite.tier.FairShares;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The locks, or the barriers, that the sessions of this node use, by name and by the id of their word. A name counts as
 * long as a session uses it: the last session that leaves it ends this node's mapping of the word. Any thread.
 *
 * <p>A name's word may be removed by its home. The session that finds it dead puts a new object in its place ({@link
 * #replace}).
 *
 * <p>Invariant: an object that can be found by name can be found by id. So the node never denies a ticket or a party of a
 * session that has found the object by its name.
 *
 * @param <T> {@link NodeLock} or {@link NodeBarrier}
 */
final class Names<T> {
    private final String what;
    private final int namesMax;
    private final Predicate<T> idle;
    private final Consumer<T> end;

    @GuardedBy("this")
    private final Map<String, Entry<T>> byName = new HashMap<>();

    /** By principal: the names that its sessions use. */
    @GuardedBy("this")
    private final Map<String, Integer> byPrincipal = new HashMap<>();

    private final Map<Long, Entry<T>> byId = new ConcurrentHashMap<>();

    /** Compared by identity. */
    private static final class Entry<T> {
        final String name;
        final T object;
        final long id;
        /** By principal: its sessions. Guarded by the names. */
        final Map<String, Integer> users;

        Entry(String name, T object, long id, Map<String, Integer> users) {
            this.name = name;
            this.object = object;
            this.id = id;
            this.users = users;
        }
    }

    /**
     * Creates the table.
     *
     * @param what the objects in the message about the limit
     * @param idle whether no ticket or party of an object is left; it must not block
     * @param end ends an object that nobody can find any more; it may block, and must not throw
     */
    Names(String what, int namesMax, Predicate<T> idle, Consumer<T> end) {
        this.what = what;
        this.namesMax = namesMax;
        this.idle = idle;
        this.end = end;
    }

    /** The object with this name, for one more session; null if there is none. {@link #leave} must follow. */
    synchronized @Nullable T use(String name, String principal) {
        Entry<T> known = byName.get(name);
        if (known == null) {
            return null;
        }
        addUser(known, principal);
        return known.object;
    }

    @GuardedBy("this")
    private void addUser(Entry<T> entry, String principal) {
        if (entry.users.merge(principal, 1, Integer::sum) == 1) {
            int unused = byPrincipal.merge(principal, 1, Integer::sum);
        }
    }

    @GuardedBy("this")
    private void removeUser(Entry<T> entry, String principal) {
        if (entry.users.containsKey(principal)
                && entry.users.computeIfPresent(principal, (same, sessions) -> sessions == 1 ? null : sessions - 1)
                        == null) {
            byPrincipal.computeIfPresent(principal, (same, names) -> names == 1 ? null : names - 1);
        }
    }

    /**
     * {@link #use} of an object that may be new.
     *
     * @return the object with this name: this one, or one that another thread added first
     */
    synchronized T add(String name, long id, T made, String principal) {
        Entry<T> known = byName.get(name);
        if (known == null) {
            known = new Entry<>(name, made, id, new HashMap<>(2));
            put(known);
        }
        addUser(known, principal);
        return known.object;
    }

    @GuardedBy("this")
    private void put(Entry<T> entry) {
        byId.put(entry.id, entry);
        byName.put(entry.name, entry);
    }

    /**
     * Puts a new object in place of one whose word is dead, for all sessions that use the name.
     *
     * @return the object with this name: this one, or one that another thread put there first; null if no session uses the
     *     name any more
     */
    synchronized @Nullable T replace(String name, T dead, long id, T made) {
        Entry<T> known = byName.get(name);
        if (known == null) {
            return null;
        }
        if (known.object != dead) {
            return known.object;
        }
        put(new Entry<>(name, made, id, known.users));
        byId.remove(known.id, known);
        return made;
    }

    /** The object that has this name now; null if there is none. The caller is one of its sessions. */
    synchronized @Nullable T now(String name) {
        Entry<T> known = byName.get(name);
        return known == null ? null : known.object;
    }

    /**
     * Checks that a name can be added. Two threads can pass at once and exceed the limit by one.
     *
     * @param principal the principal of the session that adds it
     * @throws LimitExceededException if the sessions use too many names
     */
    void requireRoom(String principal) {
        List<T> ended = new ArrayList<>();
        int left;
        int own;
        synchronized (this) {
            if (FairShares.allows(namesOf(principal), byName.size(), namesMax)) {
                return;
            }
            for (Iterator<Entry<T>> all = byName.values().iterator(); all.hasNext(); ) {
                Entry<T> entry = all.next();
                if (endsNow(entry)) {
                    all.remove();
                    ended.add(entry.object);
                }
            }
            left = byName.size();
            own = namesOf(principal);
        }
        ended.forEach(end);
        if (left >= namesMax) {
            throw new LimitExceededException(
                    "this node's applications use %d %s; the limit is %d".formatted(left, what, namesMax));
        }
        if (!FairShares.allows(own, left, namesMax)) {
            throw new LimitExceededException(
                    "\"%s\" uses %d of the %d %s of this node's applications; the limit is %d, and one principal may have as many as it leaves free"
                            .formatted(principal, own, left, what, namesMax));
        }
    }

    @GuardedBy("this")
    private int namesOf(String principal) {
        return byPrincipal.getOrDefault(principal, 0);
    }

    /**
     * A session no longer uses the name. If it was the last one, the name ends now; if a ticket or a party is still
     * left, it ends when the room is needed.
     */
    void leave(String name, String principal) {
        T ended;
        synchronized (this) {
            Entry<T> entry = byName.get(name);
            if (entry == null) {
                return;
            }
            removeUser(entry, principal);
            if (!endsNow(entry)) {
                return;
            }
            byName.remove(name);
            ended = entry.object;
        }
        end.accept(ended);
    }

    /** Whether the entry's name ends; its object cannot be found by id then. */
    @GuardedBy("this")
    private boolean endsNow(Entry<T> entry) {
        return entry.users.isEmpty() && idle.test(entry.object) && byId.remove(entry.id, entry);
    }

    /** The object of a word; null if no session here uses it. */
    @Nullable
    T byId(long id) {
        Entry<T> known = byId.get(id);
        return known == null ? null : known.object;
    }

    /**
     * Whether a session uses the object of a word, or one of its tickets or parties is left. If not, the object ends now.
     *
     * <p>Nobody ends an object without sessions at the moment when its last ticket or party goes, and the home that asked does not ask again
     * until its next scan. So such an object stays for longer, with its word: at most until {@link Retirement} asks after that scan. If the
     * home has lost the word, nobody asks; then it stays until a session opens and leaves its name, or {@link #requireRoom} needs the room.
     * Until then it counts as one of the {@code namesMax} names, and delays nobody.
     */
    boolean uses(long id) {
        Entry<T> entry = byId.get(id);
        if (entry == null) {
            return false;
        }
        synchronized (this) {
            if (!endsNow(entry)) {
                return byId.get(id) == entry;
            }
            byName.remove(entry.name);
        }
        end.accept(entry.object);
        return false;
    }

    /** The objects now. */
    List<T> all() {
        return byId.values().stream().map(entry -> entry.object).toList();
    }

    /** The number of names. */
    synchronized int size() {
        return byName.size();
    }
}

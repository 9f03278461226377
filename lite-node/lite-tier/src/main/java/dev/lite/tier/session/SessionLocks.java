package dev.lite.tier.session;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.HeldLock;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LtLock;
import dev.lite.tier.TierSync;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The locks that a session has opened, by number, and those that it holds. The application identifies a held lock by its number and
 * fencing token; a session holds each lock at most once. Any thread.
 *
 * <p>Bound: the tier's limit of locks per session.
 */
final class SessionLocks {
    private static final int INITIAL_CAPACITY = 16;

    /** The limit of attempts that were cancelled before the node executed them: one for each slot. */
    private static final int CANCELLED_MAX = 64;

    private final TierSync sync;

    @GuardedBy("this")
    private final Map<String, Integer> numbers = new HashMap<>();

    @GuardedBy("this")
    private int used;

    /** Replaced by a larger copy when it is full; written under this. */
    private volatile @Nullable Entry[] entries = new @Nullable Entry[INITIAL_CAPACITY];

    SessionLocks(TierSync sync) {
        this.sync = sync;
    }

    private static final class Entry {
        final LtLock lock;

        @GuardedBy("this")
        @Nullable
        HeldLock held;

        @GuardedBy("this")
        long attempt;

        @GuardedBy("this")
        final Set<Long> cancelled = new LinkedHashSet<>();

        Entry(LtLock lock) {
            this.lock = lock;
        }
    }

    /** Opens the lock with this name; returns its number, the same at every call. */
    long open(String name, Duration deadline) {
        LtLock lock = sync.lock(name, deadline);
        synchronized (this) {
            Integer known = numbers.get(name);
            if (known != null) {
                return known;
            }
            @Nullable Entry[] now = entries;
            if (used == now.length) {
                now = Arrays.copyOf(now, 2 * used);
            }
            now[used] = new Entry(lock);
            entries = now; // publishes the element
            numbers.put(name, used);
            return used++;
        }
    }

    private Entry entry(long number) {
        @Nullable Entry[] now = entries;
        Entry entry = number < 0 || number >= now.length ? null : now[(int) number];
        if (entry == null) {
            throw new LmrNotFoundException("this session has no lock with number %d".formatted(number));
        }
        return entry;
    }

    /** Waits for a lock; returns the fencing token. */
    long acquire(long number, Duration deadline) {
        Entry entry = entry(number);
        HeldLock held = entry.lock.acquire(deadline);
        synchronized (entry) {
            entry.held = held;
            entry.attempt = 0;
        }
        return held.fencingToken();
    }

    /**
     * Acquires a lock if it is free.
     *
     * @param attempt the application's number for this attempt, larger than 0
     * @return the fencing token, or 0 when the lock is not free or the attempt was cancelled
     */
    long tryAcquire(long number, long attempt) {
        Entry entry = entry(number);
        Optional<HeldLock> acquired = entry.lock.tryAcquire();
        if (acquired.isEmpty()) {
            return 0;
        }
        HeldLock held = acquired.get();
        synchronized (entry) {
            if (!entry.cancelled.remove(attempt)) {
                entry.held = held;
                entry.attempt = attempt;
                return held.fencingToken();
            }
        }
        held.close();
        return 0;
    }

    /** Releases a held lock if no one waits for it. Returns false if someone does; {@link #release} must follow then. */
    boolean releaseAlone(long number, long token) {
        Entry entry = entry(number);
        HeldLock held = held(entry, token);
        if (held == null) {
            return true;
        }
        if (!sync.releaseAlone(held)) {
            return false;
        }
        forget(entry, held);
        return true;
    }

    /** Releases a held lock; does nothing if it is no longer held. */
    void release(long number, long token) {
        Entry entry = entry(number);
        HeldLock held = held(entry, token);
        if (held != null) {
            held.close();
            forget(entry, held);
        }
    }

    /** Releases the lock if this attempt acquired it or will acquire it. */
    void cancel(long number, long attempt) {
        Entry entry = entry(number);
        HeldLock held;
        synchronized (entry) {
            held = entry.attempt == attempt ? entry.held : null;
            if (held == null) {
                entry.cancelled.add(attempt);
                if (entry.cancelled.size() > CANCELLED_MAX) {
                    entry.cancelled.remove(entry.cancelled.iterator().next());
                }
            }
        }
        if (held != null) {
            held.close();
            forget(entry, held);
        }
    }

    private static @Nullable HeldLock held(Entry entry, long token) {
        synchronized (entry) {
            HeldLock held = entry.held;
            return held != null && held.fencingToken() == token ? held : null;
        }
    }

    private static void forget(Entry entry, HeldLock held) {
        synchronized (entry) {
            if (entry.held == held) {
                entry.held = null;
                entry.attempt = 0;
            }
        }
    }
}

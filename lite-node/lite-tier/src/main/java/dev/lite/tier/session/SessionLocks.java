package dev.lite.tier.session;

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
 * A session's locks by number, and what it holds of them. An application names a hold by the lock's number and the fencing
 * token: of one lock there is at most one hold. Any thread.
 *
 * <p>Bound: as many locks as the tier lets a session use.
 */
final class SessionLocks {
    private static final int INITIAL_CAPACITY = 16;

    /** Attempts that the application gave up before they were made: one for each slot of its memory. */
    private static final int CANCELLED_MAX = 64;

    private final TierSync sync;
    private final Map<String, Integer> numbers = new HashMap<>(); // guarded by this
    private int used; // guarded by this

    /** Replaced by a larger copy when it is full. */
    private volatile @Nullable Entry[] entries = new @Nullable Entry[INITIAL_CAPACITY];

    SessionLocks(TierSync sync) {
        this.sync = sync;
    }

    private static final class Entry {
        final LtLock lock;
        // Guarded by this.
        @Nullable
        HeldLock held;

        long attempt;
        final Set<Long> cancelled = new LinkedHashSet<>();

        Entry(LtLock lock) {
            this.lock = lock;
        }
    }

    /** The number of a lock's name. */
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
            throw new LmrNotFoundException("lock number %d is not of this session".formatted(number));
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
     * Acquires a lock that is free.
     *
     * @param attempt the application's own number for this attempt, larger than 0
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

    /** Releases a hold that nobody waits for; false when somebody does, and {@link #release} must follow. */
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

    /** Releases a hold; one that is over already is passed over. */
    void release(long number, long token) {
        Entry entry = entry(number);
        HeldLock held = held(entry, token);
        if (held != null) {
            held.close();
            forget(entry, held);
        }
    }

    /** Releases what an attempt acquired, or will acquire. */
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

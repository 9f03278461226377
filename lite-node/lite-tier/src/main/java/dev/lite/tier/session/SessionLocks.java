package dev.lite.tier.session;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.HeldLock;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtLock;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.TierSync;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The locks that a session has opened, by number, and those that it holds. The application identifies a held lock by its number and
 * fencing token. Any thread.
 *
 * <p>A lock that was lost because the node was fenced stays here until the application closes it. Until then {@link
 * #requireNoneLost} refuses the operations of the session: any of them may have begun under the lost lock, and only the
 * close tells that its former holder has stopped. No lock is acquired until then, so lost ones do not add up.
 *
 * <p>A lock keeps its number while the application has not closed it, and longer. Bound: {@value #ENTRIES_MAX} numbers. Beyond them,
 * a number is forgotten whose lock the application neither holds nor acquires. Numbers are not used twice.
 */
final class SessionLocks {
    private static final int INITIAL_CAPACITY = 16;

    /**
     * The limit of cancels that came before their attempts, and of failures before their cancels. Of the attempts of LITE's client, at most
     * one for each slot is cancelled and has not begun. Not for each lock: 32,768 times 64 numbers would take 300 MB.
     */
    static final int CANCELS_MAX = 1024;

    /** A power of two, and more than the locks that a session uses at a time. */
    static final int ENTRIES_MAX = 1 << 15;

    private final TierSync sync;
    private final int entriesMax;

    /** Attempts that were cancelled and may still begin. */
    private final LastAttempts cancelledEarly = new LastAttempts();

    /** The last attempts that ended without the lock and were not cancelled before: a cancel may still come, and is void. */
    private final LastAttempts failed = new LastAttempts();

    @GuardedBy("this")
    private final Map<String, Long> numbers = new HashMap<>();

    @GuardedBy("this")
    private int used;

    /** The place whose number may be forgotten next. */
    @GuardedBy("this")
    private int hand;

    /** At this number of losses, no lock here was both lost and not closed; written under this. */
    private volatile int lossesChecked;

    /** The place of a number is its remainder. Replaced by a larger copy when it is full; written under this. */
    private volatile @Nullable Entry[] entries = new @Nullable Entry[INITIAL_CAPACITY];

    SessionLocks(TierSync sync) {
        this(sync, ENTRIES_MAX);
    }

    /** @param entriesMax the bound of numbers; a power of two */
    SessionLocks(TierSync sync, int entriesMax) {
        this.sync = sync;
        this.entriesMax = entriesMax;
    }

    /** Numbers of attempts; the oldest are forgotten. LITE's client uses no number twice. Any thread. */
    private static final class LastAttempts {
        @GuardedBy("this")
        private final Set<Long> numbers = new LinkedHashSet<>();

        synchronized void add(long number) {
            numbers.add(number);
            if (numbers.size() > CANCELS_MAX) {
                numbers.remove(numbers.iterator().next());
            }
        }

        synchronized boolean remove(long number) {
            return numbers.remove(number);
        }
    }

    private final class Entry {
        final long number;
        /** Not the lock: an idle one would keep what it knows of its word. */
        final String name;

        @GuardedBy("this")
        final List<Attempt> underWay = new ArrayList<>(1);

        /** Whether the number is forgotten. */
        @GuardedBy("this")
        boolean forgotten;

        /** The lock as it was acquired last, until the application closes it. */
        @GuardedBy("this")
        @Nullable
        HeldLock held;

        @GuardedBy("this")
        long attempt;

        /** Earlier ones that the application has not closed: they are lost, or their release is not over yet. */
        @GuardedBy("this")
        final List<HeldLock> former = new ArrayList<>(0);

        Entry(long number, String name) {
            this.number = number;
            this.name = name;
        }

        synchronized Attempt beginAttempt(long attemptNumber) {
            if (forgotten) {
                throw unknown(number);
            }
            Attempt begun = new Attempt(this, attemptNumber);
            begun.cancelled = cancelledEarly.remove(attemptNumber);
            underWay.add(begun);
            return begun;
        }

        synchronized void endAttempt(Attempt ended) {
            underWay.remove(ended);
            if (ended.number != 0 && ended.number != attempt && !ended.cancelled) {
                failed.add(ended.number);
            }
        }

        /** An attempt that does not hold the lock is cancelled. */
        @GuardedBy("this")
        void cancel(long attemptNumber) {
            for (Attempt one : underWay) {
                if (one.number == attemptNumber) {
                    one.cancelled = true;
                    return;
                }
            }
            if (!failed.remove(attemptNumber)) {
                cancelledEarly.add(attemptNumber);
            }
        }

        /** Whether the number may be forgotten; then no attempt begins any more. */
        synchronized boolean endIfUnused() {
            forgotten = underWay.isEmpty() && held == null && former.isEmpty();
            return forgotten;
        }

        @GuardedBy("this")
        void enter(HeldLock acquired, long byAttempt) {
            if (held != null) {
                former.add(held);
            }
            held = acquired;
            attempt = byAttempt;
        }

        @GuardedBy("this")
        void forget(HeldLock closed) {
            if (held == closed) {
                held = null;
                attempt = 0;
            } else {
                former.remove(closed);
            }
        }

        synchronized @Nullable HeldLock withToken(long token) {
            if (held != null && held.fencingToken() == token) {
                return held;
            }
            return former.stream()
                    .filter(earlier -> earlier.fencingToken() == token)
                    .findFirst()
                    .orElse(null);
        }

        /** A lock that the application has not closed, and that is not held. */
        synchronized @Nullable HeldLock lost() {
            if (held != null && !held.isHeld()) {
                return held;
            }
            return former.stream()
                    .filter(earlier -> !earlier.isHeld())
                    .findFirst()
                    .orElse(null);
        }
    }

    /** An attempt to acquire a lock, while it is under way. */
    private static final class Attempt {
        final Entry entry;
        /** The application's number for it; 0: it has none. */
        final long number;

        /** Whether the application has given up; guarded by the entry. */
        boolean cancelled;

        Attempt(Entry entry, long number) {
            this.entry = entry;
            this.number = number;
        }

        String name() {
            return entry.name;
        }

        void end() {
            entry.endAttempt(this);
        }
    }

    /** Opens the lock with this name; returns its number, the same at every call until it is forgotten. */
    long open(String name, Duration deadline) {
        LtLock unused = sync.lock(name, deadline);
        synchronized (this) {
            Long known = numbers.get(name);
            if (known != null) {
                return known;
            }
            long number = used < entriesMax ? used : forgetOne() + entriesMax;
            int place = place(number);
            @Nullable Entry[] now = entries;
            if (place >= now.length) {
                now = Arrays.copyOf(now, 2 * now.length);
            }
            now[place] = new Entry(number, name);
            entries = now; // publishes the element
            used = Math.max(used, place + 1);
            numbers.put(name, number);
            return number;
        }
    }

    private int place(long number) {
        return (int) (number & (entriesMax - 1));
    }

    @GuardedBy("this")
    private long forgetOne() {
        for (int looked = 0; looked < entriesMax; looked++) {
            Entry entry = entries[hand];
            hand = (hand + 1) & (entriesMax - 1);
            if (entry != null && entry.endIfUnused()) {
                numbers.remove(entry.name);
                return entry.number;
            }
        }
        throw new LimitExceededException(
                "this session holds or acquires %d locks; the limit is %d".formatted(entriesMax, entriesMax));
    }

    /** The entry of a number; null if it was forgotten, so its lock is not held. */
    private @Nullable Entry find(long number) {
        @Nullable Entry[] now = entries;
        int place = place(number);
        Entry entry = number < 0 || place >= now.length ? null : now[place];
        if (entry == null || entry.number < number) {
            throw unknown(number);
        }
        return entry.number == number ? entry : null;
    }

    private static LmrNotFoundException unknown(long number) {
        return new LmrNotFoundException("this session has no lock with number %d".formatted(number));
    }

    /** Begins an attempt; {@link Attempt#end} must follow. */
    private Attempt beginAttempt(long number, long attempt) {
        Entry entry = find(number);
        if (entry == null) {
            throw unknown(number);
        }
        return entry.beginAttempt(attempt);
    }

    /**
     * Refuses an operation while the application has not closed a lock that was lost. Costs two volatile reads if none
     * was.
     *
     * @throws LmrUnavailableException if there is such a lock
     */
    void requireNoneLost() {
        if (sync.locksLost() != lossesChecked) {
            checkLost();
        }
    }

    private synchronized void checkLost() {
        int losses = sync.locksLost(); // before the checks: a later loss is checked again
        for (int place = 0; place < used; place++) {
            Entry entry = entries[place];
            HeldLock lost = entry == null ? null : entry.lost();
            if (lost != null) {
                throw new LmrUnavailableException(
                        "this session lost lock \"%s\", token %d, because the cluster removed its node; close the lock before any other operation"
                                .formatted(lost.name(), lost.fencingToken()));
            }
        }
        lossesChecked = losses;
    }

    /** Whether a lock is held with this token: neither closed nor lost. */
    boolean isHeld(long number, long token) {
        Entry entry = find(number);
        HeldLock held = entry == null ? null : entry.withToken(token);
        return held != null && held.isHeld();
    }

    /**
     * Waits for a lock.
     *
     * @param attempt the application's number for this attempt; 0: it cannot be cancelled
     * @return the fencing token, or 0 when the attempt was cancelled
     */
    long acquire(long number, long attempt, Duration deadline) {
        Attempt begun = beginAttempt(number, attempt);
        try {
            requireNoneLost();
            HeldLock held = acquire(begun.name(), deadline);
            if (!enter(begun, held)) {
                return 0;
            }
            if (lostAlready(begun.entry, held)) {
                throw new LmrUnavailableException(
                        "lock \"%s\" was lost at once, because the cluster removed this node".formatted(held.name()));
            }
            return held.fencingToken();
        } finally {
            begun.end();
        }
    }

    /** Opening the lock again and waiting have one deadline together: else a ticket waits that the application has given up. */
    private HeldLock acquire(String name, Duration deadline) {
        Deadline until = Deadline.in(deadline);
        LtLock lock = sync.lock(name, deadline);
        Duration left = until.remaining();
        if (left.isZero()) {
            throw new LiteTimeoutException(until.expired("opening lock \"%s\"".formatted(name)));
        }
        return lock.acquire(left);
    }

    /** Enters a lock, or releases it if the attempt was cancelled; returns false then. */
    private static boolean enter(Attempt attempt, HeldLock held) {
        Entry entry = attempt.entry;
        synchronized (entry) {
            if (!attempt.cancelled) {
                entry.enter(held, attempt.number);
                return true;
            }
        }
        held.close();
        return false;
    }

    /**
     * Releases a lock that was lost before it was entered here. A check before that did not see it; every later loss is
     * counted after this, so the next check sees it.
     */
    private static boolean lostAlready(Entry entry, HeldLock held) {
        if (held.isHeld()) {
            return false;
        }
        held.close();
        forget(entry, held);
        return true;
    }

    /**
     * Acquires a lock if it is free.
     *
     * @param attempt the application's number for this attempt, larger than 0
     * @return the fencing token, or 0 when the lock is not free or the attempt was cancelled
     */
    long tryAcquire(long number, long attempt) {
        Attempt begun = beginAttempt(number, attempt);
        try {
            requireNoneLost();
            Optional<HeldLock> acquired = sync.lock(begun.name()).tryAcquire();
            if (acquired.isEmpty()) {
                return 0;
            }
            HeldLock held = acquired.get();
            return !enter(begun, held) || lostAlready(begun.entry, held) ? 0 : held.fencingToken();
        } finally {
            begun.end();
        }
    }

    /**
     * Releases a held lock if that needs no answer of another node. Returns false if it does; {@link #release} must follow then.
     */
    boolean releaseAtOnce(long number, long token) {
        Entry entry = find(number);
        HeldLock held = entry == null ? null : entry.withToken(token);
        if (entry == null || held == null) {
            return true;
        }
        if (!sync.releaseAtOnce(held)) {
            return false;
        }
        forget(entry, held);
        return true;
    }

    /** Releases a held lock; does nothing if it is no longer held. */
    void release(long number, long token) {
        Entry entry = find(number);
        HeldLock held = entry == null ? null : entry.withToken(token);
        if (entry != null && held != null) {
            held.close();
            forget(entry, held);
        }
    }

    /** Releases the lock if this attempt acquired it or will acquire it. */
    void cancel(long number, long attempt) {
        Entry entry = find(number);
        if (entry == null) {
            return; // the attempt finds no lock
        }
        HeldLock held;
        synchronized (entry) {
            held = entry.attempt == attempt ? entry.held : null;
            if (held == null) {
                entry.cancel(attempt);
            }
        }
        if (held != null) {
            held.close();
            forget(entry, held);
        }
    }

    private static void forget(Entry entry, HeldLock held) {
        synchronized (entry) {
            entry.forget(held);
        }
    }
}

package dev.lite.tier.sync;

import dev.lite.api.HeldLock;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.LtSync;
import dev.lite.api.SessionLostException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Durations;
import dev.lite.tier.NameRules;
import dev.lite.tier.TierSync;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The locks and barriers of one session. The session owns the locks that it holds. Any thread.
 *
 * <p>Limit: {@value #NAMES_MAX} names.
 */
public final class SessionSync implements TierSync {
    /** Maximum number of locks, and of barriers, that a session uses. */
    static final int NAMES_MAX = 16_384;

    private final SyncService service;
    private final String owner;
    private final String principal;
    private final Duration timeout;
    private final NameRules names;
    private final Map<String, SessionLock> locks = new ConcurrentHashMap<>();
    private final Map<String, NodeBarrier> barriers = new ConcurrentHashMap<>();
    private final AtomicInteger locksLost = new AtomicInteger();
    private volatile @Nullable Runnable whenLost;
    private volatile boolean open = true;
    private volatile @Nullable Deadline end;

    SessionSync(SyncService service, String owner, String principal, Duration timeout, NameRules names) {
        this.names = names;
        this.service = service;
        this.owner = owner;
        this.principal = principal;
        this.timeout = timeout;
    }

    boolean isOpen() {
        return open;
    }

    void requireOpen() {
        if (!open) {
            throw ended();
        }
    }

    SessionLostException ended() {
        return new SessionLostException("the session of %s has ended; its locks have passed on".formatted(owner));
    }

    @Override
    public int locksLost() {
        return locksLost.get();
    }

    @Override
    public void whenLocksLost(@Nullable Runnable action) {
        whenLost = action;
    }

    /** Records that this session lost a lock, or may have lost one. */
    void lockLost() {
        locksLost.incrementAndGet();
        Runnable action = whenLost;
        if (action != null) {
            action.run();
        }
    }

    /** Timeout of an operation without its own deadline. The releases at the session's end share one. */
    Duration timeout() {
        Deadline ofEnd = end;
        return ofEnd == null ? timeout : ofEnd.remaining();
    }

    @Override
    public LtLock lock(String name) {
        return lock(name, timeout());
    }

    @Override
    public LtLock lock(String name, Duration deadline) {
        LtSync.checkName(name);
        requireOpen();
        SessionLock known = locks.get(name);
        if (known != null) {
            return known;
        }
        names.require(principal, NameRules.Use.LOCK, name);
        requireRoom(locks.size());
        SessionLock made = new SessionLock(service, this, service.lock(name, principal, Deadline.in(deadline)));
        SessionLock first = locks.putIfAbsent(name, made);
        if (first != null) {
            service.leaveLock(name, principal); // each session counts once
            return first;
        }
        if (!open && locks.remove(name, made)) {
            service.leaveLock(name, principal); // close() did not see it
            throw ended();
        }
        return made;
    }

    @Override
    public LtBarrier barrier(String name, int parties) {
        return barrier(name, parties, timeout());
    }

    @Override
    public LtBarrier barrier(String name, int parties, Duration deadline) {
        LtSync.checkName(name);
        LtSync.checkParties(parties);
        requireOpen();
        NodeBarrier known = barriers.get(name);
        return new SessionBarrier(this, known == null ? use(name, deadline) : known, parties);
    }

    private NodeBarrier use(String name, Duration deadline) {
        names.require(principal, NameRules.Use.LOCK, name);
        requireRoom(barriers.size());
        NodeBarrier barrier = service.barrier(name, principal, Deadline.in(deadline));
        if (barriers.putIfAbsent(name, barrier) != null) {
            service.leaveBarrier(name, principal); // each session counts once
        } else if (!open && barriers.remove(name, barrier)) {
            service.leaveBarrier(name, principal); // close() did not see it
            throw ended();
        }
        return barrier;
    }

    /** The barrier with this name, whose word was removed. */
    NodeBarrier reopen(NodeBarrier dead, Deadline deadline) {
        requireOpen();
        NodeBarrier now = service.reopen(dead, deadline);
        barriers.replace(dead.name(), dead, now); // before a party enters: the session's end finds it
        requireOpen();
        return now;
    }

    private void requireRoom(int names) {
        if (names >= NAMES_MAX) {
            throw new LimitExceededException(
                    "the session of %s uses %d locks or barriers; the limit is %d".formatted(owner, names, NAMES_MAX));
        }
    }

    @Override
    public List<String> held() {
        return locks.entrySet().stream()
                .filter(entry -> entry.getValue().lock().isHeldBy(this))
                .map(Map.Entry::getKey)
                .toList();
    }

    @Override
    public boolean releaseAtOnce(HeldLock held) {
        return ((Hold) held).closeAtOnce();
    }

    @Override
    public void endWaits() {
        open = false;
        locks.values().forEach(lock -> lock.lock().endWaits(this));
        barriers.values().forEach(barrier -> barrier.endWaits(this));
    }

    /** Ends every wait and releases every lock. The session's data operations are over. */
    public void close() {
        endWaits();
        end = Deadline.in(timeout);
        locks.values().forEach(lock -> lock.lock().releaseAll(this));
        locks.forEach((name, lock) -> {
            if (locks.remove(name, lock)) {
                service.leaveLock(name, principal);
            }
        });
        barriers.forEach((name, barrier) -> {
            if (barriers.remove(name, barrier)) {
                service.leaveBarrier(name, principal);
            }
        });
    }

    static Duration positive(Duration deadline) {
        Durations.requirePositive(deadline);
        return deadline;
    }
}

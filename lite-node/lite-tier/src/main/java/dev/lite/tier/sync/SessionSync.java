package dev.lite.tier.sync;

import dev.lite.api.HeldLock;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.LtSync;
import dev.lite.api.SessionLostException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Durations;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.NameRules;
import dev.lite.tier.TierSync;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The locks and barriers of one session. The session owns the locks that it holds. Any thread.
 *
 * <p>Limit: {@value #NAMES_MAX} locks and as many barriers at a time. An idle one is given up when another one needs the room.
 */
public final class SessionSync implements TierSync {
    /** Maximum number of locks, and of barriers, that a session uses. */
    static final int NAMES_MAX = 16_384;

    private static final Logger log = LoggerFactory.getLogger(SessionSync.class);

    private final SyncService service;
    private final String owner;
    private final String principal;
    private final Duration timeout;
    private final NameRules names;
    private final UsedNames<LockUser> locks;
    private final UsedNames<BarrierUser> barriers;
    private final AtomicInteger locksLost = new AtomicInteger();
    private volatile @Nullable Runnable whenLost;
    private volatile boolean open = true;
    private volatile @Nullable Deadline end;

    SessionSync(SyncService service, String owner, String principal, Duration timeout, NameRules names, int namesMax) {
        locks = new UsedNames<>(namesMax, name -> service.leaveLock(name, principal));
        barriers = new UsedNames<>(namesMax, name -> service.leaveBarrier(name, principal));
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
        return new SessionLock(this, useLock(name, Deadline.in(deadline)));
    }

    /** The lock with this name, which counts from now on. */
    LockUser useLock(String name, Deadline deadline) {
        return use(locks, name, () -> new LockUser(service.lock(name, principal, deadline), this));
    }

    /** @param opens opens the lock or barrier at the node; may block */
    private <U extends UsedNames.User> U use(UsedNames<U> all, String name, Supplier<U> opens) {
        requireOpen();
        U known = all.find(name);
        if (known != null) {
            return known;
        }
        names.require(principal, NameRules.Use.LOCK, name);
        requireRoom(all);
        U made = opens.get();
        U used = all.add(made);
        if (!open && used == made && all.remove(made)) {
            throw ended(); // close() did not see it
        }
        return used;
    }

    /** The lock with the name of one whose word was removed. */
    LockUser reopen(LockUser dead, Deadline deadline) {
        LockUser known = useLock(dead.name(), deadline);
        if (known != dead) {
            return known; // given up meanwhile, or opened by another thread
        }
        NodeLock now = service.reopen(dead.lock(), deadline);
        requireOpen(); // else the word was unmapped after the end of its last session
        if (now == dead.lock()) {
            return dead;
        }
        LockUser fresh = new LockUser(now, this);
        return locks.replace(dead, fresh) ? fresh : useLock(dead.name(), deadline);
    }

    @Override
    public LtBarrier barrier(String name, int parties) {
        return barrier(name, parties, timeout());
    }

    @Override
    public LtBarrier barrier(String name, int parties, Duration deadline) {
        LtSync.checkName(name);
        LtSync.checkParties(parties);
        return new SessionBarrier(this, useBarrier(name, Deadline.in(deadline)), parties);
    }

    /** The barrier with this name, which counts from now on. */
    BarrierUser useBarrier(String name, Deadline deadline) {
        return use(barriers, name, () -> new BarrierUser(service.barrier(name, principal, deadline), this));
    }

    /** The barrier with the name of one whose word was removed. */
    BarrierUser reopen(BarrierUser dead, Deadline deadline) {
        BarrierUser known = useBarrier(dead.name(), deadline);
        if (known != dead) {
            return known; // given up meanwhile, or opened by another thread
        }
        NodeBarrier now = service.reopen(dead.barrier(), deadline);
        if (now == dead.barrier()) {
            return dead;
        }
        BarrierUser fresh = new BarrierUser(now, this);
        boolean replaced = barriers.replace(dead, fresh); // before a party enters: the session's end finds it
        requireOpen();
        return replaced ? fresh : useBarrier(dead.name(), deadline);
    }

    private void requireRoom(UsedNames<?> used) {
        if (!used.makeRoom()) {
            throw new LimitExceededException("the session of %s uses %d locks or barriers; the limit is %d"
                    .formatted(owner, used.size(), used.max()));
        }
    }

    /** Gives up some idle locks or barriers of a principal, so that it may use others; false if this session has none. */
    boolean giveUpSome(WordStore.Kind kind, String ofPrincipal) {
        return principal.equals(ofPrincipal) && (kind == WordStore.Kind.LOCK ? locks : barriers).giveUpSome();
    }

    @Override
    public List<String> held() {
        return locks.all().stream()
                .filter(user -> user.lock().isHeldBy(this))
                .map(LockUser::name)
                .toList();
    }

    @Override
    public boolean releaseAtOnce(HeldLock held) {
        return ((Hold) held).closeAtOnce();
    }

    @Override
    public void endWaits() {
        open = false;
        forEach(locks, user -> user.lock().endWaits(this));
        forEach(barriers, user -> user.barrier().endWaits(this));
    }

    /** Ends every wait and releases every lock. The session's data operations are over. */
    public void close() {
        endWaits();
        end = Deadline.in(timeout);
        forEach(locks, user -> user.lock().releaseAll(this));
        forEach(locks, locks::remove);
        forEach(barriers, barriers::remove);
        service.forget(this);
    }

    /** A step of the end. If it fails for one, the others follow: nobody else would do it while the node lives. */
    private <U extends UsedNames.User> void forEach(UsedNames<U> all, Consumer<U> step) {
        for (U user : all.all()) {
            try {
                step.accept(user);
            } catch (RuntimeException | Error e) {
                Unrecoverable.report(e);
                log.error("the end of the session of {} failed for \"{}\"", owner, user.name(), e);
            }
        }
    }

    static Duration positive(Duration deadline) {
        Durations.requirePositive(deadline);
        return deadline;
    }
}

package dev.lite.tier.sync;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.RepeatingThread;
import dev.lite.tier.FairShares;
import dev.lite.tier.NameRules;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.sync.WordStore.Kind;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Locks and barriers of one node (paper §7.2): those that its sessions use, and the queues of those whose word lies on
 * this node. One background thread ("lite-sync") audits the waits for which this node is the home, and starts the
 * removal of unused words; it blocks while there is nothing to do.
 *
 * <p>Limits: {@value #NAMES_MAX} locks and {@value #NAMES_MAX} barriers in use on this node, {@linkplain FairShares divided} among
 * principals; one queue per word that
 * was made on this node.
 */
public final class SyncService implements AutoCloseable {
    /** Maximum number of locks, and of barriers, that a node's open sessions use. */
    static final int NAMES_MAX = 65_536;

    private static final Logger log = LoggerFactory.getLogger(SyncService.class);
    private static final long TICK_NS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final int PARTY_NODE_SHIFT = 52;

    private final WordStore words;
    private final WordMoves moves;
    private final SyncCalls calls;
    private final Executor executor;
    private final SyncCounters counters = new SyncCounters();
    private final AtomicLong partyIds;

    private final Names<NodeLock> locks =
            new Names<>("locks", NAMES_MAX, NodeLock::isIdle, lock -> leave(Kind.LOCK, lock));
    private final Names<NodeBarrier> barriers =
            new Names<>("barriers", NAMES_MAX, NodeBarrier::isIdle, barrier -> leave(Kind.BARRIER, barrier));
    private final Set<SessionSync> sessions = ConcurrentHashMap.newKeySet();
    private final Opening opening;
    private final LeftWords leftWords;
    private final HomeWords homes;
    private final ThreadPoolExecutor watchers = TurnWatch.watchers();
    private final TurnWatch turnWatch;

    private final Retirement retirement;

    private final Thread thread;
    /**
     * A permit for each wait that began, each try that failed and each word that was left at this home since the last
     * tick, and one if any wait was left at that tick.
     */
    private final Semaphore waits = new Semaphore(0);

    private final CountDownLatch closed = new CountDownLatch(1);

    /**
     * Registers this service's calls with the channel.
     *
     * @param self this node's id
     * @param arena this node's arena
     * @param executor runs calls to other nodes on virtual threads
     * @param spins the largest number of pauses of a thread that is the next in a lock's queue, before it sleeps
     */
    public SyncService(
            int self,
            UUID arena,
            WordStore words,
            WordMoves moves,
            ControlChannel channel,
            ClusterView cluster,
            Executor executor,
            int spins) {
        this.words = words;
        this.turnWatch = new TurnWatch(spins, watchers);
        this.moves = moves;
        this.calls = new SyncCalls(self, arena, channel);
        this.executor = executor;
        this.opening = new Opening(words, cluster::isConnected, calls::open, new RoomForWords());
        this.leftWords = new LeftWords(calls, executor);
        this.homes = new HomeWords(words, moves, calls, cluster, executor, counters);
        this.retirement = new Retirement(words, homes, calls, cluster, executor, this::taken);
        // A restarted node starts from another number, so that no party gets the number of an earlier one.
        this.partyIds = new AtomicLong(
                (long) self << PARTY_NODE_SHIFT | new SecureRandom().nextLong(1L << (PARTY_NODE_SHIFT - 1)));
        this.thread = RepeatingThread.unstarted("lite-sync", this::step, log::error);
        calls.serve(this);
    }

    /** Room in this arena, in place of words that nobody uses. */
    private final class RoomForWords implements Opening.Room {
        @Override
        public void make() {
            retirement.hurry();
            waits.release();
        }

        @Override
        public boolean isBeingMade() {
            return leftWords.isSending() || retirement.isRemoving() || words.isFreeing();
        }
    }

    /** Starts the background thread. */
    public void start() {
        thread.start();
    }

    /**
     * The locks and barriers of a new session.
     *
     * @param owner the owner's name in messages
     * @param principal its principal
     * @param timeout timeout of an operation without its own deadline
     * @param names the names that it may use
     */
    public SessionSync session(String owner, String principal, Duration timeout, NameRules names) {
        return session(owner, principal, timeout, names, SessionSync.NAMES_MAX);
    }

    /** {@link #session(String, String, Duration, NameRules)} with another limit of locks, and of barriers. */
    SessionSync session(String owner, String principal, Duration timeout, NameRules names, int namesMax) {
        SessionSync made = new SessionSync(this, owner, principal, timeout, names, namesMax);
        sessions.add(made);
        return made;
    }

    /** A session has ended. */
    void forget(SessionSync session) {
        sessions.remove(session);
    }

    /** The lock with this name, for one more session; {@link #leaveLock} must follow. */
    NodeLock lock(String name, String principal, Deadline deadline) {
        return use(locks, Kind.LOCK, name, principal, this::makeLock, deadline);
    }

    /** A session no longer uses the lock: it holds it no more, and none of its threads waits. */
    void leaveLock(String name, String principal) {
        locks.leave(name, principal);
    }

    /** The barrier with this name, for one more session; {@link #leaveBarrier} must follow. */
    NodeBarrier barrier(String name, String principal, Deadline deadline) {
        return use(barriers, Kind.BARRIER, name, principal, this::makeBarrier, deadline);
    }

    /** A session no longer uses the barrier: none of its threads waits. */
    void leaveBarrier(String name, String principal) {
        barriers.leave(name, principal);
    }

    /**
     * The lock with the name of one whose word is dead, for a session that uses it. If its word is not dead, or no session
     * uses the name any more, this returns the same lock, after a pause.
     */
    NodeLock reopen(NodeLock dead, Deadline deadline) {
        return reopen(locks, Kind.LOCK, dead, this::makeLock, deadline);
    }

    /** {@link #reopen(NodeLock, Deadline)} for a barrier. */
    NodeBarrier reopen(NodeBarrier dead, Deadline deadline) {
        return reopen(barriers, Kind.BARRIER, dead, this::makeBarrier, deadline);
    }

    private NodeLock makeLock(String name, SyncWord word) {
        return new NodeLock(name, word, calls, executor, counters, turnWatch);
    }

    private NodeBarrier makeBarrier(String name, SyncWord word) {
        return new NodeBarrier(name, word, calls, partyIds);
    }

    private <T extends WordUser> T use(
            Names<T> names,
            Kind kind,
            String name,
            String principal,
            BiFunction<String, SyncWord, T> make,
            Deadline deadline) {
        T known = names.use(name, principal);
        if (known != null) {
            return known;
        }
        requireRoom(names, kind, principal, deadline);
        T made = make.apply(name, opening.open(kind, name, deadline));
        T first = names.add(name, id(made), made, principal);
        begin(made, first);
        return first;
    }

    /** The sessions of a principal share its names: each gives up idle ones for the others. */
    private void requireRoom(Names<?> names, Kind kind, String principal, Deadline deadline) {
        while (true) {
            try {
                names.requireRoom(principal);
                return;
            } catch (LimitExceededException full) {
                if (deadline.passed() || sessions.stream().noneMatch(session -> session.giveUpSome(kind, principal))) {
                    throw full;
                }
            }
        }
    }

    private <T extends WordUser> T reopen(
            Names<T> names, Kind kind, T dead, BiFunction<String, SyncWord, T> make, Deadline deadline) {
        String name = dead.name();
        T now = names.now(name);
        if (now != null && now != dead) {
            return now; // another thread has opened it
        }
        T made = make.apply(name, opening.open(kind, name, deadline));
        boolean isDead = id(made) != id(dead); // a name has one word at a time
        if (isDead) {
            dead.wordDied();
        }
        T first = isDead ? names.replace(name, dead, id(made), made) : dead;
        begin(made, first);
        if (first == made) {
            end(dead);
        } else if (first == null || first == dead) {
            Opening.pause(name, null, deadline);
        }
        return first == null ? dead : first;
    }

    private static long id(WordUser user) {
        return user.word().ref().lmrId();
    }

    /** @param first the object that the name has now: the one made here, or another one */
    private void begin(WordUser made, @Nullable WordUser first) {
        if (first == made) {
            moves.whenMoved(id(made), made.word(), made::homeMoved);
        } else {
            words.giveBack(made.word());
        }
    }

    /** The last session of this node has left the name. */
    private void leave(Kind kind, WordUser user) {
        end(user);
        leftWords.report(new WordStore.Named(kind, user.name(), user.word().ref()));
    }

    /** Ends this node's use of a word as a user; it may still be the word's home. */
    private void end(WordUser user) {
        moves.forget(id(user), user.word());
        try {
            words.giveBack(user.word());
        } catch (LiteTimeoutException e) {
            log.info(
                    "the word {} stays mapped until the node stops: {}",
                    user.word().ref(),
                    e.getMessage());
        }
    }

    /**
     * Invalidates all locks that this node's sessions hold. They were passed on while this node was not in the cluster.
     */
    public void loseLocks() {
        locks.all().forEach(NodeLock::lose);
    }

    /** The locks whose home is this node and that have waiters, by id: how many wait. Waiters that still spin are missing. */
    public Map<Long, Integer> waiting() {
        return homes.waiting();
    }

    /** The counters of contended locks. */
    public SyncStats stats() {
        return counters.snapshot();
    }

    SyncCalls.Place queue(int node, WordRef ref, long ticket) {
        SyncCalls.Place place = homes.atLock(ref, home -> home.queue(node, ticket));
        if (place == SyncCalls.Place.QUEUED) {
            waits.release();
        }
        return place;
    }

    void release(WordRef ref, long ticket) {
        homes.atLock(ref, home -> {
            home.release(ticket);
            return home;
        });
    }

    /** A try found the lock taken. */
    void taken(WordRef ref) {
        homes.atLock(ref, home -> {
            home.tried();
            return home;
        });
        waits.release();
    }

    /** A node begins to use a word. Returns its value; negative if it is dead or not here. */
    long open(WordStore.Named word) {
        long value;
        try {
            value = homes.value(word.ref());
        } catch (LmrFreedException e) {
            value = -1;
        }
        if (value < 0) {
            retirement.dead(word);
            waits.release();
        }
        return value;
    }

    /** No session of a node uses a word any more. */
    void left(WordStore.Named word) {
        retirement.left(word);
        waits.release();
    }

    /** A scan of this node's arena found a word; somebody may use it. Does not block. */
    public void found(WordStore.Named word) {
        retirement.found(word);
        waits.release();
    }

    /** Whether this node uses a word. */
    boolean uses(Kind kind, long lmrId) {
        return kind == Kind.LOCK ? locks.uses(lmrId) : barriers.uses(lmrId);
    }

    /** Sets how long a word is kept that nobody uses. The default is {@link Retirement#IDLE_DEFAULT}. */
    public void setIdle(Duration idle) {
        retirement.setIdle(idle);
        waits.release();
    }

    SyncCalls.Claim turn(WordRef ref, long ticket) {
        NodeLock known = locks.byId(ref.lmrId());
        return known == null ? SyncCalls.Claim.UNKNOWN : known.turn(ticket);
    }

    SyncCalls.BarrierStatus arrive(int node, WordRef ref, long round, int parties, long party) {
        SyncCalls.BarrierStatus status;
        try {
            status = homes.atBarrier(ref, home -> home.arrive(node, round, parties, party));
        } catch (NodeUnreachableException e) { // answered, so that the party knows that it is not counted
            return new SyncCalls.BarrierStatus(SyncCalls.Stage.LEAVES, round, "");
        }
        if (status.stage() == SyncCalls.Stage.WAITS) {
            waits.release();
        }
        return status;
    }

    SyncCalls.BarrierStatus leave(WordRef ref, long round, long party, String reason) {
        return homes.atBarrier(ref, home -> home.leave(round, party, reason));
    }

    void over(WordRef ref, SyncCalls.BarrierStatus outcome) {
        NodeBarrier known = barriers.byId(ref.lmrId());
        if (known != null) {
            known.over(outcome);
        }
    }

    int parties(WordRef ref, long round) {
        NodeBarrier known = barriers.byId(ref.lmrId());
        return known == null ? 0 : known.parties(round);
    }

    /**
     * Ends this node's role as the home of a word that is about to move. After the return, this node no longer accesses
     * the word as its home, and callers must retry. Blocks until operations in flight have ended.
     */
    public void leaveHome(WordRef ref) {
        homes.leave(ref);
    }

    /** Undoes {@link #leaveHome}: the word stays. */
    public void stayHome(WordRef ref) {
        homes.stay(ref);
    }

    /**
     * Blocks until a wait begins or an unused word is due, then for one tick, and audits all waits; false if the service is
     * closed.
     */
    private boolean step() throws InterruptedException {
        if (waits.tryAcquire(retirement.untilDueNs(), TimeUnit.NANOSECONDS)) {
            waits.drainPermits(); // one tick handles all of them
        }
        if (closed.await(TICK_NS, TimeUnit.NANOSECONDS)) {
            return false;
        }
        boolean any = true; // a tick that fails is repeated
        try {
            any = homes.tick();
            retirement.tick();
        } finally {
            if (any) {
                waits.release();
            }
        }
        return true;
    }

    /** Ends the background thread. Close the sessions first; a later call finds its word unmapped. */
    @Override
    public void close() {
        closed.countDown();
        homes.close();
        watchers.shutdown();
        waits.release();
    }
}

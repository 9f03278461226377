package dev.lite.tier.sync;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.RepeatingThread;
import dev.lite.tier.control.ControlChannel;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Locks and barriers of one node (paper §7.2): those that its sessions use, and the queues of those whose word lies on
 * this node. One background thread ("lite-sync") audits the waits for which this node is the home; it blocks while
 * there are none.
 *
 * <p>Limits: {@value #NAMES_MAX} locks and {@value #NAMES_MAX} barriers in use on this node; one queue per word that
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
    private final ClusterView cluster;
    private final Executor executor;
    private final SyncCounters counters = new SyncCounters();
    private final AtomicLong partyIds;

    private final Names<NodeLock> locks = new Names<>("locks", NAMES_MAX, NodeLock::isIdle, lock -> end(lock.word()));
    private final Map<Long, HomeLock> lockHomes = new ConcurrentHashMap<>();
    private final Names<NodeBarrier> barriers =
            new Names<>("barriers", NAMES_MAX, NodeBarrier::isIdle, barrier -> end(barrier.word()));
    private final Map<Long, HomeBarrier> barrierHomes = new ConcurrentHashMap<>();

    private final Thread thread;
    /**
     * A permit for each wait that began and each try that failed at this home since the last tick, and one if any wait
     * was left at that tick.
     */
    private final Semaphore waits = new Semaphore(0);

    private final CountDownLatch closed = new CountDownLatch(1);

    /**
     * Registers this service's calls with the channel.
     *
     * @param self this node's id
     * @param arena this node's arena
     * @param executor runs calls to other nodes on virtual threads
     */
    public SyncService(
            int self,
            UUID arena,
            WordStore words,
            WordMoves moves,
            ControlChannel channel,
            ClusterView cluster,
            Executor executor) {
        this.words = words;
        this.moves = moves;
        this.calls = new SyncCalls(self, arena, channel);
        this.cluster = cluster;
        this.executor = executor;
        // A restarted node starts from another number, so that no party gets the number of an earlier one.
        this.partyIds = new AtomicLong(
                (long) self << PARTY_NODE_SHIFT | new SecureRandom().nextLong(1L << (PARTY_NODE_SHIFT - 1)));
        this.thread = RepeatingThread.unstarted("lite-sync", this::step, log::error);
        calls.serve(this);
    }

    /** Starts the background thread. */
    public void start() {
        thread.start();
    }

    /**
     * The locks and barriers of a new session.
     *
     * @param owner the owner's name in messages
     * @param timeout timeout of an operation without its own deadline
     */
    public SessionSync session(String owner, Duration timeout) {
        return new SessionSync(this, owner, timeout);
    }

    /** The lock with this name, for one more session; {@link #leaveLock} must follow. */
    NodeLock lock(String name, Deadline deadline) {
        NodeLock known = locks.use(name);
        if (known != null) {
            return known;
        }
        locks.requireRoom();
        SyncWord word = words.open(WordStore.Kind.LOCK, name, deadline);
        NodeLock made = new NodeLock(name, word, calls, executor, counters);
        long id = word.ref().lmrId();
        NodeLock first = locks.add(name, id, made);
        if (first == made) {
            moves.whenMoved(id, word, made::homeMoved);
        } else {
            words.giveBack(word);
        }
        return first;
    }

    /** A session no longer uses the lock: it holds it no more, and none of its threads waits. */
    void leaveLock(String name) {
        locks.leave(name);
    }

    /** The barrier with this name, for one more session; {@link #leaveBarrier} must follow. */
    NodeBarrier barrier(String name, Deadline deadline) {
        NodeBarrier known = barriers.use(name);
        if (known != null) {
            return known;
        }
        barriers.requireRoom();
        SyncWord word = words.open(WordStore.Kind.BARRIER, name, deadline);
        NodeBarrier made = new NodeBarrier(name, word, calls, partyIds);
        long id = word.ref().lmrId();
        NodeBarrier first = barriers.add(name, id, made);
        if (first == made) {
            moves.whenMoved(id, word, made::homeMoved);
        } else {
            words.giveBack(word);
        }
        return first;
    }

    /** A session no longer uses the barrier: none of its threads waits. */
    void leaveBarrier(String name) {
        barriers.leave(name);
    }

    /** Ends this node's use of a word as a user; it may still be the word's home. */
    private void end(SyncWord word) {
        moves.forget(word.ref().lmrId(), word);
        try {
            words.giveBack(word);
        } catch (LiteTimeoutException e) {
            log.info("the word {} stays mapped until the node stops: {}", word.ref(), e.getMessage());
        }
    }

    /**
     * Invalidates all locks that this node's sessions hold. They were passed on while this node was not in the cluster.
     */
    public void loseLocks() {
        locks.all().forEach(NodeLock::lose);
    }

    /** The counters of contended locks. */
    public SyncStats stats() {
        return counters.snapshot();
    }

    SyncCalls.Place queue(int node, WordRef ref, long ticket) {
        SyncCalls.Place place = home(ref).queue(node, ticket);
        if (place == SyncCalls.Place.QUEUED) {
            waits.release();
        }
        return place;
    }

    void release(WordRef ref, long ticket) {
        home(ref).release(ticket);
    }

    /** A try found the lock taken. */
    void taken(WordRef ref) {
        home(ref).tried();
        waits.release();
    }

    SyncCalls.Claim turn(WordRef ref, long ticket) {
        NodeLock known = locks.byId(ref.lmrId());
        return known == null ? SyncCalls.Claim.UNKNOWN : known.turn(ticket);
    }

    SyncCalls.BarrierStatus arrive(int node, WordRef ref, long round, int parties, long party) {
        SyncCalls.BarrierStatus status = barrierHome(ref).arrive(node, round, parties, party);
        if (status.stage() == SyncCalls.Stage.WAITS) {
            waits.release();
        }
        return status;
    }

    SyncCalls.BarrierStatus leave(WordRef ref, long round, long party, String reason) {
        return barrierHome(ref).leave(round, party, reason);
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

    private HomeLock home(WordRef ref) {
        return home(lockHomes, ref, word -> new HomeLock(word, calls, cluster, executor, counters));
    }

    private HomeBarrier barrierHome(WordRef ref) {
        return home(barrierHomes, ref, word -> new HomeBarrier(word, calls, cluster, executor));
    }

    private <T> T home(Map<Long, T> homes, WordRef ref, Function<SyncWord, T> make) {
        T known = homes.get(ref.lmrId());
        // Rare, and never blocks: the word is in this node's own memory.
        return known != null
                ? known
                : homes.computeIfAbsent(ref.lmrId(), id -> {
                    if (moves.hasLeft(ref)) {
                        throw new NodeUnreachableException(
                                "the lock or barrier %d moves to another home; it is to be asked".formatted(id));
                    }
                    return make.apply(words.own(ref));
                });
    }

    /**
     * Ends this node's role as the home of a word that is about to move. After the return, this node no longer accesses
     * the word as its home, and callers must retry. Blocks until operations in flight have ended.
     */
    public void leaveHome(WordRef ref) {
        moves.leave(ref); // first: a home that is created later sees it
        lockHomes.computeIfPresent(ref.lmrId(), (id, home) -> {
            words.giveBack(home.word());
            return null;
        });
        HomeBarrier barrier = barrierHomes.remove(ref.lmrId());
        if (barrier != null) {
            words.giveBack(barrier.word()); // from here on no round ends
            barrier.awaitNotified();
        }
    }

    /** Undoes {@link #leaveHome}: the word stays. */
    public void stayHome(WordRef ref) {
        moves.stay(ref);
    }

    /** Blocks until a wait begins, then for one tick, and audits all waits; false if the service is closed. */
    private boolean step() throws InterruptedException {
        waits.acquire();
        waits.drainPermits(); // one tick handles all of them
        if (closed.await(TICK_NS, TimeUnit.NANOSECONDS)) {
            return false;
        }
        boolean any = true; // a tick that fails is repeated
        try {
            any = tickAll();
        } finally {
            if (any) {
                waits.release();
            }
        }
        return true;
    }

    private boolean tickAll() {
        boolean any = false;
        for (HomeLock home : lockHomes.values()) {
            any |= tick(home::isWaitedFor, home::tick);
        }
        for (HomeBarrier home : barrierHomes.values()) {
            any |= tick(home::isWaitedFor, home::tick);
        }
        return any;
    }

    private boolean tick(java.util.function.BooleanSupplier isWaitedFor, Runnable tick) {
        try {
            if (!isWaitedFor.getAsBoolean()) {
                return false;
            }
            tick.run();
        } catch (LiteException e) {
            log.debug("cannot audit a lock or barrier any more: {}", e.getMessage()); // its word moves
        } catch (RuntimeException | Error e) { // one word's failure must not keep the audit from the others
            if (closed.getCount() > 0) {
                log.error("auditing a lock or barrier failed; continuing", e);
            }
        }
        return true;
    }

    /** Ends the background thread. Close the sessions first; a later call finds its word unmapped. */
    @Override
    public void close() {
        closed.countDown();
        waits.release();
    }
}

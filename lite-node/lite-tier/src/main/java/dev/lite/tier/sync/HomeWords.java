package dev.lite.tier.sync;

import dev.lite.api.LiteException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.sync.WordStore.Kind;
import dev.lite.tier.sync.WordStore.Named;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The locks and barriers whose words lie in this node's arena, with their queues and open rounds. Any thread.
 *
 * <p>A queue or a round exists only over a living word. It ends before the word's memory is freed or moves: after the end
 * this node does not access the word as its home.
 */
final class HomeWords {
    private static final Logger log = LoggerFactory.getLogger(HomeWords.class);
    private static final Duration CALL = Duration.ofSeconds(2);

    private final WordStore words;
    private final WordMoves moves;
    private final SyncCalls calls;
    private final ClusterView cluster;
    private final Executor executor;
    private final SyncCounters counters;
    private final Map<Long, HomeLock> locks = new ConcurrentHashMap<>();
    private final Map<Long, HomeBarrier> barriers = new ConcurrentHashMap<>();
    private volatile boolean closed;

    HomeWords(
            WordStore words,
            WordMoves moves,
            SyncCalls calls,
            ClusterView cluster,
            Executor executor,
            SyncCounters counters) {
        this.words = words;
        this.moves = moves;
        this.calls = calls;
        this.cluster = cluster;
        this.executor = executor;
        this.counters = counters;
    }

    /**
     * Acts at the queue of a lock.
     *
     * @throws LmrFreedException if the word is dead, or this arena does not have it
     * @throws NodeUnreachableException if the word is leaving this home; the caller must retry
     */
    <R> R atLock(WordRef ref, Function<HomeLock, R> action) {
        HomeLock home = home(locks, ref, word -> new HomeLock(word, calls, cluster, executor, counters));
        return unlessLeaving(ref, () -> action.apply(home));
    }

    /** Acts at the open round of a barrier; throws as {@link #atLock} does. */
    <R> R atBarrier(WordRef ref, Function<HomeBarrier, R> action) {
        HomeBarrier home = home(barriers, ref, word -> new HomeBarrier(word, calls, cluster, executor));
        return unlessLeaving(ref, () -> action.apply(home));
    }

    /** The locks with waiters, by the id of their word: how many wait. Waiters that still spin are missing. */
    Map<Long, Integer> waiting() {
        Map<Long, Integer> waiting = new HashMap<>();
        locks.forEach((id, home) -> {
            int count = home.waiting();
            if (count > 0) {
                waiting.put(id, count);
            }
        });
        return waiting;
    }

    private static <R> R unlessLeaving(WordRef ref, Supplier<R> action) {
        try {
            return action.get();
        } catch (LmrFreedException e) {
            throw leaving(ref); // its next call gets the definite answer
        }
    }

    private static NodeUnreachableException leaving(WordRef ref) {
        return new NodeUnreachableException(
                "the lock or barrier %d leaves this home; it is to be asked again".formatted(ref.lmrId()));
    }

    private <T> T home(Map<Long, T> homes, WordRef ref, Function<SyncWord, T> make) {
        T known = homes.get(ref.lmrId());
        // Rare, and never blocks: the word is in this node's own memory.
        return known != null
                ? known
                : homes.computeIfAbsent(ref.lmrId(), id -> {
                    if (moves.hasLeft(ref)) {
                        throw leaving(ref);
                    }
                    SyncWord word = words.own(ref);
                    // Read under the map's lock, which the end of a home takes, too: a dead word gets no home again.
                    if (value(word) < 0 || !words.isHere(ref)) {
                        words.giveBack(word);
                        throw new LmrFreedException("the word %d is dead".formatted(id));
                    }
                    return make.apply(word);
                });
    }

    private static long value(SyncWord word) {
        return word.fetchAdd(0, word.deadline(CALL));
    }

    /**
     * The value of a word: negative if it is dead.
     *
     * @throws LmrFreedException if this arena does not have it
     * @throws NodeUnreachableException if the word is leaving this home
     */
    long value(WordRef ref) {
        if (moves.hasLeft(ref)) {
            throw leaving(ref);
        }
        SyncWord word = words.own(ref);
        try {
            long value = value(word);
            if (moves.hasLeft(ref) || !words.isHere(ref)) {
                throw leaving(ref); // its memory may have had another content
            }
            return value;
        } finally {
            words.giveBack(word);
        }
    }

    /**
     * Ends a word, unless somebody holds or awaits its lock or barrier. Then its queue ends here, too.
     *
     * @return whether the word is dead now
     */
    boolean retire(Named word) {
        WordRef ref = word.ref();
        try {
            boolean retired =
                    word.kind() == Kind.LOCK ? atLock(ref, HomeLock::retire) : atBarrier(ref, HomeBarrier::retire);
            if (retired) {
                end(ref);
            }
            return retired;
        } catch (LmrFreedException e) {
            return true;
        }
    }

    private void end(WordRef ref) {
        locks.computeIfPresent(ref.lmrId(), (id, home) -> {
            words.giveBack(home.word());
            return null;
        });
        HomeBarrier barrier = barriers.remove(ref.lmrId());
        if (barrier != null) {
            words.giveBack(barrier.word()); // from here on no round ends
            barrier.awaitNotified();
        }
    }

    /** See {@link SyncService#leaveHome}. */
    void leave(WordRef ref) {
        moves.leave(ref); // first: a home that is created later sees it
        end(ref);
    }

    /** See {@link SyncService#stayHome}. */
    void stay(WordRef ref) {
        moves.stay(ref);
    }

    /** Handles one clock tick; returns whether anybody waits. */
    boolean tick() {
        boolean any = false;
        for (HomeLock home : locks.values()) {
            any |= tick(home.isWaitedFor(), home::tick);
        }
        for (HomeBarrier home : barriers.values()) {
            any |= tick(home.isWaitedFor(), home::tick);
        }
        return any;
    }

    private boolean tick(boolean waitedFor, Runnable tick) {
        if (waitedFor) {
            try {
                tick.run();
            } catch (LiteException e) {
                log.debug("cannot audit a lock or barrier any more: {}", e.getMessage()); // its word moves or is dead
            } catch (RuntimeException | Error e) { // one word's failure must not keep the audit from the others
                Unrecoverable.report(e);
                if (!closed) {
                    log.error("auditing a lock or barrier failed; continuing", e);
                }
            }
        }
        return waitedFor;
    }

    /** The node stops: audits may fail from now on. */
    void close() {
        closed = true;
    }
}

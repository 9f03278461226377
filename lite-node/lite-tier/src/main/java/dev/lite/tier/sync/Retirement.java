package dev.lite.tier.sync;

import dev.lite.api.LiteException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.sync.WordStore.Kind;
import dev.lite.tier.sync.WordStore.Named;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes the words of this node's arena that nobody uses, so that names do not fill the directory and the arena. Only a
 * word's home removes it. A word becomes a candidate when a node reports that it left it, or when a scan of the arena finds
 * it. After the idle time the home
 *
 * <ol>
 *   <li>asks every node whether it uses the word; if one does, or does not answer, the word stays;
 *   <li>ends the word by one compare-and-set, which fails while anybody holds or awaits its lock or barrier;
 *   <li>raises the ticket floor in the directory to the next ticket of the word;
 *   <li>removes the record of the name;
 *   <li>frees the word's memory by the reclamation rule.
 * </ol>
 *
 * <p>Only the order of the last four steps is needed for correctness; {@link LockWord} has the invariant. The question only
 * avoids needless work: a node that still has a dead word opens it again by its name.
 *
 * <p>If this process ends between two steps, the next process of this node continues. Either its scan of the arena finds the
 * dead word, or a node that opens the name reports it. If the record was already removed, the scan for orphans frees the
 * memory.
 *
 * <p>A tick removes words for about 20 ms only: thousands of names that one application has used once must not take the processor
 * from others a minute later. The limit does not hold while somebody needs the room.
 *
 * <p>Any thread; does not block, the work runs on the executor, one sweep at a time. Limit: {@value #CANDIDATES_MAX}
 * candidates; a later scan finds the others.
 */
final class Retirement {
    /** How long a word is kept that nobody uses: opening it again costs several round trips to the directory. */
    static final Duration IDLE_DEFAULT = Duration.ofSeconds(60);

    private static final Logger log = LoggerFactory.getLogger(Retirement.class);
    private static final int CANDIDATES_MAX = 65_536;
    /** A sweep begins no further words after this time, except in a hurry; a fifth of the time from one tick to the next. */
    private static final long SWEEP_NS = TimeUnit.MILLISECONDS.toNanos(20);
    /** The words that are removed together, except in a hurry. */
    private static final int SWEEP_WORDS = 32;

    private static final Duration CALL = Duration.ofSeconds(2);
    private static final Duration DIRECTORY = Duration.ofSeconds(10);
    private static final Duration RETRY = Duration.ofSeconds(1);

    private final WordStore words;
    private final HomeWords homes;
    private final SyncCalls calls;
    private final ClusterView cluster;
    private final Executor executor;
    private final Consumer<WordRef> audit;
    private final Map<Long, Candidate> candidates = new ConcurrentHashMap<>();
    private final AtomicBoolean sweeping = new AtomicBoolean();
    /** Changes under the monitor, and so does a time that depends on it: a change reaches every candidate. */
    private volatile Duration idle = IDLE_DEFAULT;

    private volatile boolean hurried;

    /** Compared by identity: a later report replaces it. */
    private static final class Candidate {
        final Named word;
        /** Whether the word was known to be dead when it became a candidate. */
        final boolean dead;

        private volatile long dueNs; // of the system's nano time

        Candidate(Named word, boolean dead, Duration delay) {
            this.word = word;
            this.dead = dead;
            delay(delay);
        }

        void delay(Duration delay) {
            dueNs = System.nanoTime() + delay.toNanos();
        }

        boolean isDue(long nowNs) {
            return nowNs - dueNs >= 0;
        }

        long id() {
            return word.ref().lmrId();
        }
    }

    /** @param audit makes the home of a lock check soon that somebody holds it */
    Retirement(
            WordStore words,
            HomeWords homes,
            SyncCalls calls,
            ClusterView cluster,
            Executor executor,
            Consumer<WordRef> audit) {
        this.words = words;
        this.homes = homes;
        this.calls = calls;
        this.cluster = cluster;
        this.executor = executor;
        this.audit = audit;
    }

    /** Sets how long an unused word is kept. */
    synchronized void setIdle(Duration newIdle) {
        idle = newIdle;
        candidates.values().stream()
                .filter(candidate -> !candidate.dead)
                .forEach(candidate -> candidate.delay(newIdle));
    }

    private synchronized void delayByIdle(Candidate candidate) {
        candidate.delay(idle);
    }

    /** Removes every unused word now, because there is no room for another one. */
    void hurry() {
        candidates.values().forEach(candidate -> candidate.delay(Duration.ZERO));
        hurried = !candidates.isEmpty();
    }

    /** Whether a word is being removed, or is due. */
    boolean isRemoving() {
        return sweeping.get() || untilDueNs() == 0;
    }

    /** A node no longer uses a word. If the word is dead, this report is late: it does not delay the removal. */
    synchronized void left(Named word) {
        Candidate known = candidates.get(word.ref().lmrId());
        if (known == null || !known.dead) {
            put(new Candidate(word, false, idle));
        }
    }

    /** A scan found a word in this arena. */
    synchronized void found(Named word) {
        if (!candidates.containsKey(word.ref().lmrId())) {
            put(new Candidate(word, false, idle));
        }
    }

    /** A node met a dead word, or the record of a word that is not here. */
    void dead(Named word) {
        Candidate known = candidates.get(word.ref().lmrId());
        if (known == null || !known.isDue(System.nanoTime())) {
            put(new Candidate(word, true, Duration.ZERO));
        }
    }

    private void put(Candidate candidate) {
        if (candidates.size() < CANDIDATES_MAX || candidates.containsKey(candidate.id())) {
            candidates.put(candidate.id(), candidate);
        }
    }

    /** Nanoseconds until a {@link #tick} is needed; {@link Long#MAX_VALUE} if there are no candidates. */
    long untilDueNs() {
        long nowNs = System.nanoTime();
        return candidates.values().stream()
                .mapToLong(candidate -> Math.max(0, candidate.dueNs - nowNs))
                .min()
                .orElse(Long.MAX_VALUE);
    }

    /** Handles one clock tick: starts a sweep if a candidate is due. */
    void tick() {
        long nowNs = System.nanoTime();
        if (sweeping.get() || candidates.values().stream().noneMatch(candidate -> candidate.isDue(nowNs))) {
            return;
        }
        sweeping.set(true); // only one thread ticks
        boolean started = false;
        try {
            executor.execute(this::sweep);
            started = true;
        } catch (RejectedExecutionException e) {
            log.debug("unused words stay: the node stops");
        } finally {
            if (!started) { // for example, no memory for a thread: the next tick tries again
                sweeping.set(false);
            }
        }
    }

    private void sweep() {
        long startNs = System.nanoTime();
        try {
            boolean all = false;
            List<Candidate> some;
            do {
                if (hurried) {
                    hurried = false; // before the words are looked for, so that a later hurry counts
                    all = true;
                }
                some = due(all ? SyncCalls.WORDS_MAX : SWEEP_WORDS);
                retire(some);
            } while (!some.isEmpty() && (all || System.nanoTime() - startNs < SWEEP_NS));
        } catch (LiteException e) {
            log.debug("unused words stay for now: {}", e.getMessage());
        } catch (RejectedExecutionException e) {
            log.debug("unused words stay: the node stops");
        } catch (RuntimeException e) {
            log.error("removing unused words failed; trying again", e);
        } finally {
            sweeping.set(false);
        }
    }

    private List<Candidate> due(int max) {
        long nowNs = System.nanoTime();
        return candidates.values().stream()
                .filter(candidate -> candidate.isDue(nowNs))
                .limit(max)
                .toList();
    }

    /** Retires some words as far as possible. None of them is due afterwards. */
    private void retire(List<Candidate> some) {
        some.forEach(candidate -> candidate.delay(RETRY));
        List<Candidate> dead = new ArrayList<>();
        List<Candidate> unused = new ArrayList<>();
        for (Candidate candidate : some) {
            sort(candidate, dead, unused);
        }
        // Before the question, which fails if a node does not answer: sessions may wait for the names of dead words.
        remove(dead);
        for (Kind kind : Kind.values()) {
            removeUsed(kind, unused);
        }
        List<Candidate> retired = new ArrayList<>();
        for (Candidate candidate : unused) {
            if (homes.retire(candidate.word)) {
                retired.add(candidate);
            } else {
                delayByIdle(candidate); // somebody uses it again
            }
        }
        remove(retired);
    }

    private void sort(Candidate candidate, List<Candidate> dead, List<Candidate> unused) {
        WordRef ref = candidate.word.ref();
        try {
            long value = homes.value(ref);
            if (LockWord.isDead(value)) {
                dead.add(candidate);
            } else if (candidate.word.kind() == Kind.LOCK && LockWord.count(value) > 0) {
                delayByIdle(candidate);
                audit.accept(ref); // its holder may be gone, and nobody waits who would make the home notice
            } else {
                unused.add(candidate);
            }
        } catch (LmrFreedException e) {
            dead.add(candidate); // its record may be left over
        } catch (NodeUnreachableException e) {
            candidates.remove(candidate.id(), candidate); // it moves: its next home finds it
        }
    }

    /**
     * Removes the words that a node uses from the candidates: that node reports when it leaves them. It does not report a word that only a
     * ticket or a party was left of: the next scan of the arena for orphans finds it, after an hour or so.
     */
    private void removeUsed(Kind kind, List<Candidate> unused) {
        List<Candidate> asked = unused.stream()
                .filter(candidate -> candidate.word.kind() == kind)
                .toList();
        if (asked.isEmpty()) {
            return;
        }
        List<Long> ids = asked.stream().map(Candidate::id).toList();
        for (int node : cluster.nodes(Deadline.in(DIRECTORY))) {
            boolean[] used = calls.used(node, kind, ids, Deadline.in(CALL));
            for (int i = 0; i < used.length; i++) {
                if (used[i]) {
                    candidates.remove(ids.get(i), asked.get(i));
                    unused.remove(asked.get(i));
                }
            }
        }
    }

    private void raiseFloor(List<Candidate> dead) {
        long floor = 0;
        for (Candidate candidate : dead) {
            if (candidate.word.kind() == Kind.LOCK) {
                floor = Math.max(floor, nextTicket(candidate.word.ref()));
            }
        }
        if (floor > 0) {
            words.raiseTicketFloor(floor, Deadline.in(DIRECTORY));
        }
    }

    /** The next ticket of a dead lock; 0 if its memory is free, because the floor was raised before. */
    private long nextTicket(WordRef ref) {
        try {
            return LockWord.next(homes.value(ref));
        } catch (LmrFreedException e) {
            return 0;
        }
    }

    /** Removes dead words side by side: the directory answers many requests about as fast as one. */
    private void remove(List<Candidate> dead) {
        raiseFloor(dead);
        Deadline deadline = Deadline.in(DIRECTORY);
        List<CompletableFuture<Void>> removals = dead.stream()
                .map(candidate -> CompletableFuture.runAsync(() -> remove(candidate, deadline), executor))
                .toList();
        removals.forEach(CompletableFuture::join); // every removal has the deadline
    }

    private void remove(Candidate candidate, Deadline deadline) {
        try {
            if (words.remove(candidate.word, deadline)) {
                candidates.remove(candidate.id(), candidate);
            }
        } catch (LiteException e) {
            log.debug("the dead word {} is not removed yet: {}", candidate.word.ref(), e.getMessage());
        }
    }
}

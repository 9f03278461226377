package dev.lite.tier.operator;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteException;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.cluster.UnreadableRecordException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.RepeatedLines;
import dev.lite.os.waiting.RepeatingThread;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.lmr.LmrRecords;
import dev.lite.tier.lmr.NamedLmrs;
import dev.lite.tier.lmr.NodeExtents;
import dev.lite.tier.lmr.PrincipalBytes;
import dev.lite.tier.lmr.Reclaimer;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.ExtentRun;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Frees extents of this arena that no longer belong to an LMR: their node died before it could free them, or the
 * process that created an anonymous LMR has ended.
 *
 * <p>An extent is an orphan if no record contains it and its LMR's creator, unless that node is gone, does not know it
 * either, and no node moves the LMR: a move owns extents before a record does. All must hold at every scan during a
 * grace time. If a scan cannot ask the directory or a node, it frees nothing. Like all memory, an orphan's is reused
 * only when no node has it mapped any more.
 *
 * <p>A scan visits every record whose LMR has extents on this node. So it also counts those that are older than this
 * process ({@link PrincipalBytes#adopt}).
 *
 * <p>One thread ("lite-orphans") scans at the start, then after one grace time while any extent is suspected, else
 * after {@value #RARELY} grace times. Any thread may also scan.
 */
public final class Orphans implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Orphans.class);
    private static final Duration TIMEOUT = Duration.ofMinutes(2);
    private static final Duration END_TIMEOUT = Duration.ofSeconds(5);
    private static final int LINES_MAX = 1;
    private static final Duration LINES_PERIOD = Duration.ofHours(1);

    /**
     * Grace times between scans while no extent is suspected. Large, because a scan reads every record of the
     * directory.
     */
    private static final int RARELY = 6;

    private final int self;
    private final ArenaAllocator allocator;
    private final PrincipalBytes bytes;
    private final NamedLmrs named;
    private final LmrRecords records;
    private final CreatorQueries creatorQueries;
    private final NodeExtents extents;
    private final Reclaimer reclaimer;
    private final Consumer<NamedLmrs.Named> whenFound;
    private final Thread thread;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final RepeatedLines lines = new RepeatedLines(LINES_MAX, LINES_PERIOD);

    @GuardedBy("lock")
    private final Map<Extent, Long> suspectSinceNs = new HashMap<>();

    @GuardedBy("lock")
    private Duration grace;

    @GuardedBy("lock")
    private boolean closed;

    private record Extent(long lmrId, ExtentRun run) {}

    /**
     * Does not start yet; see {@link #start}.
     *
     * @param whenFound gets each named LMR with memory here at each scan; must not block
     */
    public Orphans(
            int self,
            ArenaAllocator allocator,
            PrincipalBytes bytes,
            NamedLmrs named,
            LmrRecords records,
            CreatorQueries creatorQueries,
            NodeExtents extents,
            Reclaimer reclaimer,
            Consumer<NamedLmrs.Named> whenFound,
            Duration grace) {
        this.self = self;
        this.allocator = allocator;
        this.bytes = bytes;
        this.named = named;
        this.records = records;
        this.creatorQueries = creatorQueries;
        this.extents = extents;
        this.reclaimer = reclaimer;
        this.whenFound = whenFound;
        this.grace = grace;
        this.thread = RepeatingThread.unstarted("lite-orphans", this::step, log::error);
    }

    /** Starts to scan. */
    public void start() {
        thread.start();
    }

    /** Changes the grace time. */
    public void setGrace(Duration newGrace) {
        lock.lock();
        try {
            grace = newGrace;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Scans once, then waits until the next scan is due; false if this object is closed. */
    private boolean step() throws InterruptedException {
        try {
            long freed = scan(grace());
            if (freed > 0) {
                log.info("freed {} bytes that belonged to no LMR", freed);
            }
        } catch (LiteException e) {
            report(e);
        } catch (RuntimeException | Error e) {
            Unrecoverable.report(e);
            if (isClosed()) {
                log.debug("scanning for orphans ends with the node: {}", e.toString());
                return false;
            }
            log.error("scanning for orphans failed; continuing", e);
        }
        lock.lock();
        try {
            long before = grace.toNanos();
            long pauseNs = Math.max(before, TimeUnit.MILLISECONDS.toNanos(50));
            for (long left = suspectSinceNs.isEmpty() ? RARELY * pauseNs : pauseNs;
                    left > 0 && !closed && grace.toNanos() == before; ) {
                left = changed.awaitNanos(left);
            }
            return !closed;
        } finally {
            lock.unlock();
        }
    }

    /** Most failures end by themselves. A record that cannot be read stays so until an operator acts, and until then nothing is freed. */
    private void report(LiteException failure) {
        String suffix = UnreadableRecordException.isCauseOf(failure) ? lines.suffix("unreadable") : null;
        if (suffix == null) {
            log.debug("cannot scan for orphans now: {}", failure.getMessage());
        } else {
            log.warn("no memory without an LMR is freed for now: {}{}", failure.getMessage(), suffix);
        }
    }

    private boolean isClosed() {
        lock.lock();
        try {
            return closed;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until the scan has ended. Call after {@link #close} and after ending the work for which a scan may wait.
     */
    public void awaitEnd() {
        boolean interrupted = false;
        for (Deadline deadline = Deadline.in(END_TIMEOUT); thread.isAlive() && !deadline.passed(); ) {
            try {
                thread.join(deadline.remaining());
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private Duration grace() {
        lock.lock();
        try {
            return grace;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Scans once, and frees extents that have been orphans for long enough.
     *
     * @return the freed bytes
     * @throws LiteException if the directory or a node did not answer; then the scan frees nothing
     */
    long scan(Duration longEnough) {
        Deadline deadline = Deadline.in(TIMEOUT);
        // First the extents, then the moves, then the records: an LMR that is published in between is found in its
        // record, and so is the target of a move that ends in between.
        Set<Extent> unknown = new HashSet<>();
        Set<Long> living = new HashSet<>();
        allocator.forEachExtent((id, run) -> {
            if (!records.knows(id)) { // filters most of very many
                unknown.add(new Extent(id, run));
            }
        });
        Set<Extent> suspects = suspects(unknown);
        Set<Long> moving = creatorQueries.perhapsMoving(
                suspects.stream().map(Extent::lmrId).collect(Collectors.toSet()), deadline);
        if (!unknown.isEmpty()) {
            Set<Long> here = new HashSet<>();
            unknown.forEach(extent -> here.add(extent.lmrId()));
            Map<Long, NamedLmrs.Named> ofNames = named.find(lmr -> here.contains(lmr.id()), deadline);
            ofNames.values().forEach(lmr -> removeAll(unknown, lmr.lmr()));
            ofNames.values().forEach(whenFound);
            living.addAll(ofNames.keySet());
            here.removeAll(ofNames.keySet());
            Set<Long> known = creatorQueries.known(here, deadline);
            unknown.removeIf(extent -> known.contains(extent.lmrId()));
        }
        unknown.removeIf(extent -> moving.contains(extent.lmrId()));
        List<Extent> orphans = judge(unknown, longEnough);
        orphans.retainAll(suspects); // nobody was asked whether it moves another one
        return free(untouched(orphans, living, deadline));
    }

    /**
     * Those of the orphans that nobody can touch. A node may have an LMR mapped whose record was removed, or whose creator
     * has ended, if nobody could notify it yet. So its mappings end first, as for every LMR that is freed. Before that,
     * the LMR is given up for a creator that is gone: its process may still return.
     *
     * @param living LMRs with a record: no mapping leads to their orphans
     */
    private List<Extent> untouched(List<Extent> orphans, Set<Long> living, Deadline deadline) {
        Set<Long> removed = new HashSet<>();
        orphans.forEach(orphan -> removed.add(orphan.lmrId()));
        removed.removeAll(living);
        if (removed.isEmpty()) {
            return orphans;
        }
        Set<Long> ended = reclaimer.endMappings(creatorQueries.forgotten(removed, deadline), deadline);
        return orphans.stream()
                .filter(orphan -> living.contains(orphan.lmrId()) || ended.contains(orphan.lmrId()))
                .toList();
    }

    private void removeAll(Set<Extent> unknown, LmrRecord lmr) {
        List<Share> shares = new ArrayList<>(lmr.shares());
        LmrRecord.Move move = lmr.move();
        if (move != null) {
            shares.addAll(move.shares());
        }
        List<Run> here = shares.stream()
                .filter(share -> share.node() == self)
                .flatMap(share -> share.runs().stream())
                .toList();
        here.forEach(
                run -> unknown.remove(new Extent(lmr.id(), new ExtentRun(run.offset(), run.length(), run.entry()))));
        bytes.adopt(lmr, here);
    }

    /** The extents that an earlier scan suspected; this one frees no others. */
    private Set<Extent> suspects(Set<Extent> extents) {
        lock.lock();
        try {
            Set<Extent> suspects = new HashSet<>(extents);
            suspects.retainAll(suspectSinceNs.keySet());
            return suspects;
        } finally {
            lock.unlock();
        }
    }

    private List<Extent> judge(Set<Extent> unknown, Duration longEnough) {
        long nowNs = System.nanoTime();
        lock.lock();
        try {
            suspectSinceNs.keySet().retainAll(unknown);
            List<Extent> orphans = new ArrayList<>();
            for (Extent extent : unknown) {
                Long sinceNs = suspectSinceNs.putIfAbsent(extent, nowNs);
                if (nowNs - (sinceNs == null ? nowNs : sinceNs) >= longEnough.toNanos()) {
                    orphans.add(extent);
                }
            }
            return orphans;
        } finally {
            lock.unlock();
        }
    }

    private long free(List<Extent> orphans) {
        long freed = 0;
        for (Extent orphan : orphans) {
            ExtentRun run = orphan.run();
            log.info(
                    "freed extent of lmr={} offset={} bytes={}: no record has it",
                    orphan.lmrId(),
                    run.offset(),
                    run.length());
            extents.freeHere(orphan.lmrId(), List.of(new Run(run.offset(), run.length(), run.entry())));
            freed += run.length();
        }
        return freed;
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
        } finally {
            lock.unlock();
        }
        thread.interrupt();
    }
}

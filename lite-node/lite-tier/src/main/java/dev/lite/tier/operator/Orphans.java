package dev.lite.tier.operator;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteException;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.lmr.LmrRecords;
import dev.lite.tier.lmr.NamedLmrs;
import dev.lite.tier.lmr.NodeExtents;
import dev.lite.tier.lmr.PrincipalBytes;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Frees extents of this arena that belong to no LMR any more: their node died before it could give them back, or the process
 * that made an LMR without a name has ended.
 *
 * <p>An extent is an orphan when a scan finds no record that has it, and the node that made its LMR, if it is not gone, does
 * not know it either, and all of that holds at every scan for a grace time. That time is longer than any allocation or
 * move takes, which have extents before a record says so. A scan that cannot ask the directory, or a node, judges nothing.
 *
 * <p>Since a scan meets every record whose LMR has extents here, it also has those counted that were there before this process
 * ({@link PrincipalBytes#adopt}).
 *
 * <p>One thread ("lite-orphans") scans at the start, then after the grace time while anything is suspected, else after {@value
 * #RARELY} of them; any thread may scan besides.
 */
public final class Orphans implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Orphans.class);
    private static final Duration TIMEOUT = Duration.ofMinutes(2);
    private static final Duration END_TIMEOUT = Duration.ofSeconds(5);

    /** While nothing is suspected, a scan comes after so many grace times: each reads every record of the directory. */
    private static final int RARELY = 6;

    private final int self;
    private final ArenaAllocator allocator;
    private final PrincipalBytes bytes;
    private final NamedLmrs named;
    private final LmrRecords records;
    private final CreatorQueries creatorQueries;
    private final NodeExtents extents;
    private final Thread thread;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    @GuardedBy("lock")
    private final Map<Extent, Long> suspectSinceNs = new HashMap<>();

    @GuardedBy("lock")
    private Duration grace;

    @GuardedBy("lock")
    private boolean closed;

    private record Extent(long lmrId, ExtentRun run) {}

    /** Not started yet. */
    public Orphans(
            int self,
            ArenaAllocator allocator,
            PrincipalBytes bytes,
            NamedLmrs named,
            LmrRecords records,
            CreatorQueries creatorQueries,
            NodeExtents extents,
            Duration grace) {
        this.self = self;
        this.allocator = allocator;
        this.bytes = bytes;
        this.named = named;
        this.records = records;
        this.creatorQueries = creatorQueries;
        this.extents = extents;
        this.grace = grace;
        this.thread = Thread.ofPlatform().name("lite-orphans").daemon().unstarted(this::run);
    }

    /** Begins to scan. */
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

    private void run() {
        while (true) {
            try {
                long freed = scan(grace());
                if (freed > 0) {
                    log.info("{} bytes that belonged to no LMR are free again", freed);
                }
            } catch (LiteException e) {
                log.debug("orphans are not judged now: {}", e.getMessage());
            } catch (RuntimeException e) {
                if (isClosed()) {
                    log.debug("scanning for orphans ends with the node: {}", e.toString());
                    return;
                }
                log.error("scanning for orphans failed; continuing", e);
            }
            lock.lock();
            try {
                if (closed) {
                    return;
                }
                long before = grace.toNanos();
                long pauseNs = Math.max(before, TimeUnit.MILLISECONDS.toNanos(50));
                for (long left = suspectSinceNs.isEmpty() ? RARELY * pauseNs : pauseNs;
                        left > 0 && !closed && grace.toNanos() == before; ) {
                    left = changed.awaitNanos(left);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt(); // close() does that
                return;
            } finally {
                lock.unlock();
            }
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

    /** After {@link #close}, and once the work it may wait for has been ended: until it scans no more. */
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
     * Scans once, and frees what has been an orphan for long enough.
     *
     * @return bytes that it freed
     * @throws LiteException when the directory or a node did not answer; nothing is judged then
     */
    long scan(Duration longEnough) {
        Deadline deadline = Deadline.in(TIMEOUT);
        // First the extents, then the records: what is published in between is found in its record.
        Set<Extent> unknown = new HashSet<>();
        allocator.forEachExtent((id, run) -> {
            if (!records.knows(id)) { // most of very many
                unknown.add(new Extent(id, run));
            }
        });
        if (!unknown.isEmpty()) {
            Set<Long> here = new HashSet<>();
            unknown.forEach(extent -> here.add(extent.lmrId()));
            Map<Long, NamedLmrs.Named> ofNames = named.find(lmr -> here.contains(lmr.id()), deadline);
            ofNames.values().forEach(lmr -> removeAll(unknown, lmr.lmr()));
            here.removeAll(ofNames.keySet());
            Set<Long> known = creatorQueries.known(here, deadline);
            unknown.removeIf(extent -> known.contains(extent.lmrId()));
        }
        return free(judge(unknown, longEnough));
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
                    "extent of lmr={} is freed offset={} bytes={}: no record has it",
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

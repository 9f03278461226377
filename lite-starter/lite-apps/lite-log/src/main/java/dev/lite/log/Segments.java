package dev.lite.log;

import dev.lite.api.Lifetime;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The segments of a log that this process has mapped. They stay mapped until they are cleaned, because a thread may still commit in one
 * that is full. Any thread.
 */
final class Segments implements AutoCloseable {
    private static final Set<Permission> ALL = EnumSet.of(Permission.READ, Permission.WRITE, Permission.ATOMIC);

    private static final long DELETED = Long.MAX_VALUE;

    private final LtMemory memory;
    private final Metadata metadata;
    private final LogSpec spec;
    private final Segment.Geometry geometry;
    private final boolean writable;
    private final Duration deadline;
    /** At most as many as the log has, and one more. */
    private final ConcurrentMap<Long, Segment> mapped = new ConcurrentHashMap<>();

    private final ReentrantLock rolling = new ReentrantLock();
    private volatile @Nullable Segment current;

    /** Written under {@link #rolling}. */
    private volatile boolean closed;

    /** @param deadline of an append, which waits for another one that makes the next segment */
    Segments(LtMemory memory, Metadata metadata, LogSpec spec, boolean writable, Duration deadline) {
        this.deadline = deadline;
        this.memory = memory;
        this.metadata = metadata;
        this.spec = spec;
        this.writable = writable;
        geometry = Segment.Geometry.of(spec.segmentBytes(), spec.transactionBytesTypical());
    }

    Segment.Geometry geometry() {
        return geometry;
    }

    boolean isWritable() {
        return writable;
    }

    /** The segment that writers use; null if {@link #successor} has to find it. */
    @Nullable
    Segment current() {
        return current;
    }

    /**
     * The segment to use after this one, which is full or was cleaned.
     *
     * @param full null for the log's last segment
     * @param waitNs how long to wait for another append that makes it
     * @throws LiteTimeoutException if that did not make it in this time
     */
    Segment successor(@Nullable Segment full, long waitNs) {
        awaitRolling(waitNs);
        try {
            Segment now = current;
            if (now != null && now != full) {
                return now;
            }
            requireOpen();
            long number = full == null ? 0 : full.number + 1;
            long last = metadata.last();
            Segment next = alive(Math.max(number, last));
            if (next.number > last) {
                metadata.advanceLast(next.number);
            }
            current = next;
            forgetCleaned();
            return next;
        } finally {
            rolling.unlock();
        }
    }

    private void awaitRolling(long waitNs) {
        try {
            // Without a wait at first, so that a thread that is interrupted already may append.
            if (rolling.tryLock() || rolling.tryLock(waitNs, TimeUnit.NANOSECONDS)) {
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        throw new LiteTimeoutException(
                "the next segment of log \"%s\" was not there within %s, or the wait for it was interrupted"
                        .formatted(metadata.log, deadline));
    }

    /** Creates the segment after this one, if there is none, so that the writers need not wait for it later. */
    void prepareSuccessor(Segment segment) {
        Thread.ofVirtual().name("lite-log-segment").start(() -> {
            try {
                created(segment.number + 1);
            } catch (LiteException | LogStateException e) {
                // The writer that needs the segment tries again, and has the exception.
            }
        });
    }

    /** Not one that was made in advance and freed since: another process may have made it again. */
    private Segment alive(long number) {
        Segment segment = created(number);
        forgetIfFreed(segment);
        return created(segment.number);
    }

    /**
     * Maps a segment, or creates it if it is behind the last one. An earlier one that does not exist was lost
     * with its node and then freed by a master: it is never made again, because its positions are used, and
     * the log continues in the next one.
     */
    Segment created(long number) {
        Segment known = mapped.get(number);
        if (known != null) {
            return known;
        }
        if (LogPosition.isLastSegment(number)) {
            throw new LogStateException("the log \"%s\" has used up its numbers of segments".formatted(metadata.log));
        }
        LmrHandle handle;
        try {
            handle = isBehindLast(number) ? createOrMap(number) : memory.map(metadata.segmentName(number), ALL);
        } catch (LmrNotFoundException e) {
            return created(isCleaned(number) ? metadata.last() : number + 1);
        }
        boolean kept = false;
        long next;
        try {
            Segment segment = new Segment(number, handle, geometry);
            long first = unlessDeleted(metadata::first);
            if (first <= number && isFirstMade(segment)) {
                kept = true;
                return remember(segment);
            }
            free(number); // It had been removed or lost, so this call or another one has created it again.
            if (first == DELETED) {
                throw deleted();
            }
            next = first <= number ? number + 1 : metadata.last();
        } catch (LmrFreedException e) { // by a process that has found out the same, or by a master
            next = number;
        } finally {
            if (!kept) {
                handle.unmap();
            }
        }
        return created(next);
    }

    /**
     * Whether this memory is that of the number from the beginning. A process that is paused before it creates a segment creates it again
     * if that was used, lost and freed meanwhile. So each process marks a segment while it is behind the last one, and only then makes
     * it the last one: one without a mark that is not behind it came too late.
     */
    private boolean isFirstMade(Segment segment) {
        if (isBehindLast(segment.number)) {
            segment.mark();
            return true;
        }
        return !segment.isMadeAgain();
    }

    /** The first segment of a log that is not ready comes behind nothing. */
    private boolean isBehindLast(long number) {
        long last = unlessDeleted(metadata::last);
        if (last == DELETED) {
            throw deleted();
        }
        return number > last || (number == 0 && metadata.state() == Metadata.STATE_NEW);
    }

    /** Whether a segment that does not exist was cleaned, and not freed by a master. */
    private boolean isCleaned(long number) {
        long first = unlessDeleted(metadata::first);
        if (first == DELETED) {
            throw deleted();
        }
        return first > number;
    }

    private LogStateException deleted() {
        return new LogStateException("the log \"%s\" was deleted".formatted(metadata.log));
    }

    /** Deleting a log marks its metadata, then frees its segments, and at last the metadata. */
    private long unlessDeleted(LongSupplier word) {
        try {
            return metadata.state() == Metadata.STATE_DELETED ? DELETED : word.getAsLong();
        } catch (LmrFreedException e) {
            if (!isMetadataFree()) {
                throw new LogStateException("the log \"%s\" is closed".formatted(metadata.log));
            }
            return DELETED;
        }
    }

    /** Asks the directory, since a handle that was unmapped here throws the same exception. */
    private boolean isMetadataFree() {
        try (LmrHandle handle = memory.map(Metadata.name(metadata.log), Permission.READ)) {
            return handle.id() != metadata.handle.id();
        } catch (LmrNotFoundException e) {
            return true;
        }
    }

    private LmrHandle createOrMap(long number) {
        LmrSpec lmr = new LmrSpec(
                spec.segmentBytes(),
                metadata.segmentName(number),
                spec.placement(),
                spec.defaultPermissions(),
                Lifetime.UNTIL_FREED);
        try {
            return memory.createOrMap(lmr, ALL);
        } catch (NodeUnreachableException e) {
            if (spec.placement() instanceof Placement.OnNodes) {
                return memory.createOrMap(lmr.withPlacement(Placement.roundRobin()), ALL);
            }
            throw e;
        }
    }

    private void free(long number) {
        try (LmrHandle master = memory.map(metadata.segmentName(number), Permission.MASTER)) {
            master.free();
        } catch (LmrNotFoundException | LmrFreedException e) {
            // Another process freed it.
        } catch (LmrPermissionException e) {
            // Another principal created it, and frees it.
        }
    }

    private Segment remember(Segment segment) {
        Segment other = mapped.putIfAbsent(segment.number, segment);
        if (other != null) {
            segment.handle.unmap();
            return other;
        }
        // Either this thread sees the close here, or that sees the segment. A second unmap does nothing.
        if (closed) {
            mapped.remove(segment.number, segment);
            unmap(segment.handle);
            requireOpen();
        }
        return segment;
    }

    private void requireOpen() {
        if (closed) {
            throw new LogStateException("the log \"%s\" is closed".formatted(metadata.log));
        }
    }

    /**
     * A segment for reading.
     *
     * @return null if it does not exist yet
     * @throws LogPositionException if it was cleaned, or lost
     */
    @Nullable
    Segment existing(long number) {
        if (number > metadata.last()) {
            return null;
        }
        Segment known = mapped.get(number);
        if (known != null) {
            return known;
        }
        try {
            forgetCleaned(); // a process that only reads makes no segments
            LmrHandle handle = memory.map(metadata.segmentName(number), writable ? ALL : EnumSet.of(Permission.READ));
            return remember(new Segment(number, handle, geometry));
        } catch (LmrNotFoundException e) {
            throw isCleaned(number) ? metadata.removed(LogPosition.of(number, 0, 0)) : metadata.lost(number);
        }
    }

    /** Drops the handle of a segment if it was freed. */
    void forgetIfFreed(Segment segment) {
        try {
            segment.tail();
        } catch (LmrFreedException e) {
            mapped.remove(segment.number, segment);
            unmap(segment.handle);
        }
    }

    /**
     * For what is not used any more. A node that does not answer does not stop it: the end of the session unmaps the
     * handle.
     */
    static void unmap(LmrHandle handle) {
        try {
            handle.unmap();
        } catch (LiteException e) {
            System.getLogger(Segments.class.getName())
                    .log(System.Logger.Level.DEBUG, "{0} stays mapped: {1}", handle, e.getMessage());
        }
    }

    /** Unmaps what was cleaned. */
    private void forgetCleaned() {
        long first = metadata.first();
        mapped.forEach((number, segment) -> {
            if (number < first && mapped.remove(number, segment)) {
                unmap(segment.handle);
            }
        });
    }

    @Override
    public void close() {
        rolling.lock();
        try {
            closed = true;
            current = null;
        } finally {
            rolling.unlock();
        }
        mapped.values().forEach(segment -> unmap(segment.handle));
        mapped.clear();
    }
}

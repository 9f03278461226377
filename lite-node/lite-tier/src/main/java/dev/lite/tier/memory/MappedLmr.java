package dev.lite.tier.memory;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrBoundsException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.Permission;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.session.wire.WireError;
import dev.lite.tier.Access;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The part of a {@link Mapping} that an operation on a single mapped extent does not need: the places of all chunks,
 * the path through a fabric, the messages of refusals. Any thread.
 */
final class MappedLmr {
    private static final MemorySegment ALL = RawMemory.all();

    /** An operation waits this long for the end of a move before it reads the record itself. */
    private static final long LOOK_NS_MIN = 100_000_000;

    private static final long LOOK_NS_MAX = 2_000_000_000;

    private final @Nullable String name;
    private final MappingOwner owner;

    /** The places of the LMR. They change only while no operation is in flight: see {@link Mapping#resume}. */
    private volatile MappedPlaces placed;

    /** The permission bits of the handle; they only shrink. */
    private volatile int granted;

    /** Operations that wait for a fabric or another node. An operation adds itself inside its in-flight slot. */
    private final AtomicInteger posted = new AtomicInteger();

    private final AtomicInteger handedOver = new AtomicInteger();

    /** A recent deadline, for reuse. Threads race on it without ordering, because any recent value works. */
    private @Nullable Deadline lastDeadline;

    private volatile @Nullable LiteException ended;

    /** Set while the handle is paused; the end of the pause counts it down. */
    private volatile @Nullable CountDownLatch paused;

    @GuardedBy("this")
    private boolean released;

    MappedLmr(LmrRecord lmr, @Nullable String name, int granted, long[] places, MappingOwner owner) {
        this.name = name;
        this.granted = granted;
        this.owner = owner;
        this.placed = new MappedPlaces(lmr, places);
    }

    MappedPlaces placed() {
        return placed;
    }

    /** The address of byte 0 if the LMR is one extent in mapped memory, else 0. */
    long onlyAddress() {
        return placed.onlyAddress();
    }

    LmrRecord lmr() {
        return placed.lmr();
    }

    MappingOwner owner() {
        return owner;
    }

    Optional<String> name() {
        return Optional.ofNullable(name);
    }

    Set<Permission> permissions() {
        return Permission.fromBits(granted);
    }

    /** Marks the handle as ended; false if it had ended before. */
    synchronized boolean end(LiteException why) {
        if (ended != null) {
            return false;
        }
        ended = why;
        stopPause();
        return true;
    }

    /** Marks the handle as paused; false if it is paused already or has ended. */
    synchronized boolean pause() {
        if (ended != null || paused != null) {
            return false;
        }
        paused = new CountDownLatch(1);
        return true;
    }

    boolean isPaused() {
        return paused != null;
    }

    boolean hasEnded() {
        return ended != null;
    }

    int granted() {
        return granted;
    }

    /** Sets the new places at the end of a pause, before the rights return; guarded by this. */
    void place(MappedPlaces newPlaces, int newGranted) {
        placed = newPlaces;
        granted = newGranted;
    }

    /** Ends the pause and wakes the threads that wait for it; guarded by this. */
    void stopPause() {
        CountDownLatch pause = paused;
        paused = null;
        if (pause != null) {
            pause.countDown();
        }
    }

    /**
     * Waits for the end of a pause. A long wait reads the record itself, because the node that moves the LMR may be
     * gone.
     *
     * @throws LmrUnavailableException if the owner lost locks meanwhile: the operation may have begun under one of them
     */
    void awaitResumed(Deadline deadline) {
        int locksLost = owner.locksLost();
        long lookNs = LOOK_NS_MIN;
        CountDownLatch pause;
        while ((pause = paused) != null) {
            long remaining = deadline.remainingNs();
            if (remaining == 0) {
                throw new LiteTimeoutException(deadline.expired("%s: waiting for the end of its move".formatted(this)));
            }
            try {
                if (!pause.await(Math.min(lookNs, remaining), TimeUnit.NANOSECONDS)) {
                    owner.refresh(name, lmr().id(), deadline);
                    lookNs = Math.min(2 * lookNs, LOOK_NS_MAX);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new LmrUnavailableException("%s: interrupted while waiting for its move".formatted(this), e);
            }
        }
        if (owner.locksLost() != locksLost) {
            throw new LmrUnavailableException(
                    "%s: the cluster removed this node while the operation waited, and its session lost its locks"
                            .formatted(this));
        }
    }

    /** Marks the handle as released; true on the first call. */
    synchronized boolean release() {
        boolean first = !released;
        released = true;
        return first;
    }

    /** The exception for a refused operation; {@link Moving} if the caller must retry after the pause. */
    RuntimeException refusal(int needed, long offset, long length) {
        LiteException why = ended;
        if (why != null) {
            return WireError.again(why, "%s: %s".formatted(this, why.getMessage()));
        }
        if (paused != null) {
            return new Moving();
        }
        int now = granted;
        if ((now & needed) != needed) {
            return new LmrPermissionException("%s: the handle allows %s; this operation needs %s"
                    .formatted(this, Permission.fromBits(now), Permission.fromBits(needed)));
        }
        if ((offset | length) < 0 || offset > lmr().size() - length) {
            return new LmrBoundsException("%s: offset %d, length %d is out of bounds; it has %d bytes"
                    .formatted(this, offset, length, lmr().size()));
        }
        return new Moving(); // the pause ended after the operation's own check: retry
    }

    /**
     * Reads if every chunk is mapped. Otherwise returns false, and the caller continues with {@link #readPosted}. Call
     * it inside the in-flight slot.
     */
    boolean readMapped(long offset, MemorySegment destination, long at, long length) {
        MappedPlaces where = placed;
        if (where.isDirect()) {
            readPieces(where, offset, destination, at, length);
        } else {
            beginPosted();
        }
        return where.isDirect();
    }

    /** Writes; see {@link #readMapped}. */
    boolean writeMapped(long offset, MemorySegment source, long at, long length) {
        MappedPlaces where = placed;
        if (where.isDirect()) {
            writePieces(where, offset, source, at, length);
        } else {
            beginPosted();
        }
        return where.isDirect();
    }

    /** Counts an operation that leaves its in-flight slot to wait for a fabric. */
    void beginPosted() {
        posted.incrementAndGet();
    }

    /** Uncounts an operation after {@link #beginPosted}. */
    void endPosted() {
        posted.decrementAndGet();
    }

    /** Counts an operation after {@link #beginPosted} as carried out by other nodes from now on. */
    void handOver() {
        handedOver.incrementAndGet(); // first: it is never uncounted in between
        posted.decrementAndGet();
    }

    /** Uncounts an operation after {@link #handOver}. */
    void endHandedOver() {
        handedOver.decrementAndGet();
    }

    /**
     * Waits until no operation waits for a fabric or another node; false if one still does at the deadline.
     *
     * @param elsewhere whether to wait also for operations that other nodes carry out
     */
    boolean awaitPosted(boolean elsewhere, Deadline deadline) {
        for (int spins = 0; posted.get() > 0 || (elsewhere && handedOver.get() > 0); spins++) {
            if (deadline.passed()) {
                return false;
            }
            Polling.pause(spins);
        }
        return true;
    }

    private static void readPieces(MappedPlaces where, long offset, MemorySegment destination, long at, long length) {
        for (long done = 0; done < length; ) {
            long piece = where.pieceLength(offset + done, length - done);
            MemorySegment.copy(ALL, where.place(offset + done), destination, at + done, piece);
            done += piece;
        }
    }

    private static void writePieces(MappedPlaces where, long offset, MemorySegment source, long at, long length) {
        for (long done = 0; done < length; ) {
            long piece = where.pieceLength(offset + done, length - done);
            MemorySegment.copy(source, at + done, ALL, where.place(offset + done), piece);
            done += piece;
        }
    }

    /** Reads through the fabric, after {@link #beginPosted}. */
    void readPosted(
            boolean low,
            long offset,
            MemorySegment destination,
            long at,
            long length,
            @Nullable Deadline begun,
            long timeoutNs) {
        try {
            Deadline deadline = deadline(begun, timeoutNs);
            MappedPlaces where = placed;
            for (long done = 0; done < length; ) {
                long place = where.place(offset + done);
                long piece = where.pieceLength(offset + done, length - done);
                if (Layout.isRemote(place)) {
                    owner.remoteMemory(low)
                            .read(
                                    Layout.nodeOf(place),
                                    where.arenaOf(place),
                                    Layout.offsetOf(place),
                                    destination,
                                    at + done,
                                    piece,
                                    deadline);
                } else {
                    MemorySegment.copy(ALL, place, destination, at + done, piece);
                }
                done += piece;
            }
        } catch (LmrUnavailableException e) {
            throw named(e);
        } finally {
            posted.decrementAndGet();
        }
    }

    /** Writes through the fabric, after {@link #beginPosted}. */
    void writePosted(
            boolean low,
            long offset,
            MemorySegment source,
            long at,
            long length,
            @Nullable Deadline begun,
            long timeoutNs) {
        try {
            Deadline deadline = deadline(begun, timeoutNs);
            MappedPlaces where = placed;
            for (long done = 0; done < length; ) {
                long place = where.place(offset + done);
                long piece = where.pieceLength(offset + done, length - done);
                if (Layout.isRemote(place)) {
                    owner.remoteMemory(low)
                            .write(
                                    Layout.nodeOf(place),
                                    where.arenaOf(place),
                                    Layout.offsetOf(place),
                                    source,
                                    at + done,
                                    piece,
                                    deadline);
                } else {
                    MemorySegment.copy(source, at + done, ALL, place, piece);
                }
                done += piece;
            }
        } catch (LmrUnavailableException e) {
            throw named(e);
        } finally {
            posted.decrementAndGet();
        }
    }

    /** {@link Mapping#isHeldUp}. */
    boolean isHeldUp(boolean low, long offset, long length) {
        if (paused != null) {
            return true;
        }
        MappedPlaces where = placed;
        if ((offset | length) < 0 || offset > where.lmr().size() - length) {
            return false; // it will be refused
        }
        for (long done = 0; done < length; ) {
            long place = where.place(offset + done);
            if (Layout.isRemote(place) && owner.remoteMemory(low).mayWait(Layout.nodeOf(place))) {
                return true;
            }
            done += where.pieceLength(offset + done, length - done);
        }
        return false;
    }

    /**
     * Starts an access of one piece through the fabric, without a thread that waits, after {@link #beginPosted}.
     *
     * @param ended called once with the failure or null, after {@link #endPosted}
     * @return false if the access did not start; then the caller must call {@link #endPosted}
     */
    boolean tryPost(
            boolean low,
            Access access,
            @Nullable Deadline begun,
            long timeoutNs,
            boolean soon,
            Consumer<@Nullable RuntimeException> ended) {
        MappedPlaces where = placed;
        long length = access.length();
        if (length == 0) {
            return false;
        }
        long place = where.place(access.offset());
        if (!Layout.isRemote(place) || where.pieceLength(access.offset(), length) < length) {
            return false;
        }
        return owner.remoteMemory(low)
                .tryStart(
                        Layout.nodeOf(place),
                        where.arenaOf(place),
                        access.at(Layout.offsetOf(place)),
                        deadline(begun, timeoutNs),
                        soon,
                        afterPosted(ended));
    }

    private Consumer<@Nullable RuntimeException> afterPosted(Consumer<@Nullable RuntimeException> ended) {
        return failure -> {
            RuntimeException its = failure;
            try {
                endPosted();
                its = failure instanceof LmrUnavailableException e ? named(e) : failure;
            } finally { // also without memory for the name
                ended.accept(its);
            }
        };
    }

    /** {@link Mapping#fetchAdd} through the fabric, after {@link #beginPosted}. */
    long fetchAddPosted(boolean low, long place, long delta, @Nullable Deadline begun, long timeoutNs) {
        try {
            MappedPlaces where = placed;
            return owner.remoteMemory(low)
                    .fetchAdd(
                            Layout.nodeOf(place),
                            where.arenaOf(place),
                            Layout.offsetOf(place),
                            delta,
                            deadline(begun, timeoutNs));
        } catch (LmrUnavailableException e) {
            throw named(e);
        } finally {
            posted.decrementAndGet();
        }
    }

    /** {@link Mapping#testSet} through the fabric, after {@link #beginPosted}. */
    long testSetPosted(boolean low, long place, long expected, long value, @Nullable Deadline begun, long timeoutNs) {
        try {
            MappedPlaces where = placed;
            return owner.remoteMemory(low)
                    .testSet(
                            Layout.nodeOf(place),
                            where.arenaOf(place),
                            Layout.offsetOf(place),
                            expected,
                            value,
                            deadline(begun, timeoutNs));
        } catch (LmrUnavailableException e) {
            throw named(e);
        } finally {
            posted.decrementAndGet();
        }
    }

    /** The same exception with the name of the LMR, which the fabric does not know. */
    private LmrUnavailableException named(LmrUnavailableException e) {
        return new LmrUnavailableException("%s: %s".formatted(this, e.getMessage()), e);
    }

    /**
     * The deadline of an operation that waits now.
     *
     * @param begun the deadline if the operation has waited before, so that all of its waits have the same; else null
     * @param timeoutNs of a deadline that begins now; 0 means the owner's
     */
    Deadline deadline(@Nullable Deadline begun, long timeoutNs) {
        if (begun != null) {
            return begun;
        }
        Deadline last = lastDeadline;
        Deadline deadline = Deadline.about(timeoutNs == 0 ? owner.deadline() : Duration.ofNanos(timeoutNs), last);
        if (deadline != last) {
            lastDeadline = deadline;
        }
        return deadline;
    }

    /** Thrown while the handle is paused. The catcher can wait, because it is outside the in-flight slot. */
    static final class Moving extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Moving() {
            super("the LMR is moving", null, false, false);
        }
    }

    @Override
    public String toString() {
        if (name == null) {
            return "anonymous LMR %d".formatted(lmr().id());
        }
        if (name.startsWith(ClusterDirectory.INTERNAL_PREFIX)) {
            int slash = name.indexOf('/');
            return "%s \"%s\"".formatted(name.substring(1, slash), name.substring(slash + 1));
        }
        return "LMR \"%s\"".formatted(name);
    }
}

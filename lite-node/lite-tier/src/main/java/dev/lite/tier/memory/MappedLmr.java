package dev.lite.tier.memory;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrBoundsException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSlice;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.Permission;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
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
 * What a {@link Mapping} needs beyond an operation on a single mapped extent: the places of all chunks, the way through a
 * fabric, the words of a refusal. Any thread.
 */
final class MappedLmr {
    private static final MemorySegment ALL = RawMemory.all();

    /** How long an operation waits for the end of a move before it reads the record itself. */
    private static final long LOOK_NS_MIN = 100_000_000;

    private static final long LOOK_NS_MAX = 2_000_000_000;

    private final @Nullable String name;
    private final MappingOwner owner;

    /** Where it lies. Changes only while no operation is under way: see {@link Mapping#resume}. */
    private volatile MappedPlaces placed;

    /** What the handle is good for; only ever less. */
    private volatile int granted;

    /** Operations that wait for a fabric or for another node, counted from inside their in-flight slot. */
    private final AtomicInteger posted = new AtomicInteger();

    /** What an operation got lately; written without order, since any will do. */
    private @Nullable Deadline lastDeadline;

    private volatile @Nullable LiteException ended;

    /** While the handle is paused; counted down at the end of the pause. */
    private volatile @Nullable CountDownLatch paused;

    private boolean released; // guarded by this

    MappedLmr(LmrRecord lmr, @Nullable String name, int granted, long[] places, MappingOwner owner) {
        this.name = name;
        this.granted = granted;
        this.owner = owner;
        this.placed = new MappedPlaces(lmr, places);
    }

    MappedPlaces placed() {
        return placed;
    }

    /** The address of byte 0 when the LMR is one extent in mapped memory, else 0. */
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

    /** Notes the end; false when it had ended before. */
    synchronized boolean end(LiteException why) {
        if (ended != null) {
            return false;
        }
        ended = why;
        stopPause();
        return true;
    }

    /** Notes the pause; false when there is one already, or the handle has ended. */
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

    /** The end of a pause, before the rights come back; guarded by this. */
    void place(MappedPlaces newPlaces, int newGranted) {
        placed = newPlaces;
        granted = newGranted;
    }

    /** Wakes those who wait for the end of a pause; guarded by this. */
    void stopPause() {
        CountDownLatch pause = paused;
        paused = null;
        if (pause != null) {
            pause.countDown();
        }
    }

    /**
     * Waits for the end of a pause. A long wait reads the record itself: the node that moves the LMR may be gone.
     *
     * @throws LmrUnavailableException when locks of its owner passed on meanwhile: it may have been begun under one of them
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
                throw new LmrUnavailableException("%s: interrupted while it moves".formatted(this), e);
            }
        }
        if (owner.locksLost() != locksLost) {
            throw new LmrUnavailableException(
                    "%s: this node was removed from the cluster while the operation waited, and the locks of its session passed on"
                            .formatted(this));
        }
    }

    /** Whether this is the first call. */
    synchronized boolean release() {
        boolean first = !released;
        released = true;
        return first;
    }

    /** Why an operation is refused; {@link Moving} when it is to be tried again after the pause. */
    RuntimeException refusal(int needed, long offset, long length) {
        LiteException why = ended;
        if (why != null) {
            return why.code().exception("%s: %s".formatted(this, why.getMessage()));
        }
        if (paused != null) {
            return new Moving();
        }
        int now = granted;
        if ((now & needed) != needed) {
            return new LmrPermissionException("%s: the handle was mapped for %s; this needs %s"
                    .formatted(this, Permission.fromBits(now), Permission.fromBits(needed)));
        }
        if ((offset | length) < 0 || offset > lmr().size() - length) {
            return new LmrBoundsException("%s: offset %d, length %d lies outside of its %d bytes"
                    .formatted(this, offset, length, lmr().size()));
        }
        return new Moving(); // the pause ended between the check of the rights and this one
    }

    /**
     * Reads when every chunk is mapped; otherwise answers false, and {@link #readPosted} follows. Inside the in-flight slot.
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

    /** {@link #readMapped} for a write. */
    boolean writeMapped(long offset, MemorySegment source, long at, long length) {
        MappedPlaces where = placed;
        if (where.isDirect()) {
            writePieces(where, offset, source, at, length);
        } else {
            beginPosted();
        }
        return where.isDirect();
    }

    /** An operation leaves its in-flight slot to wait for a fabric. */
    void beginPosted() {
        posted.incrementAndGet();
    }

    /** The end of what {@link #beginPosted} began. */
    void endPosted() {
        posted.decrementAndGet();
    }

    /** Waits until nobody waits for a fabric or another node; false when somebody still does at the deadline. */
    boolean awaitPosted(Deadline deadline) {
        for (int spins = 0; posted.get() > 0; spins++) {
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

    /** Reads through the fabric; {@link #beginPosted} came before. */
    void readPosted(long offset, MemorySegment destination, long at, long length, long timeoutNs) {
        try {
            Deadline deadline = deadline(timeoutNs);
            MappedPlaces where = placed;
            for (long done = 0; done < length; ) {
                long place = where.place(offset + done);
                long piece = where.pieceLength(offset + done, length - done);
                if (Layout.isRemote(place)) {
                    owner.remoteMemory()
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

    /** Writes through the fabric; {@link #beginPosted} came before. */
    void writePosted(long offset, MemorySegment source, long at, long length, long timeoutNs) {
        try {
            Deadline deadline = deadline(timeoutNs);
            MappedPlaces where = placed;
            for (long done = 0; done < length; ) {
                long place = where.place(offset + done);
                long piece = where.pieceLength(offset + done, length - done);
                if (Layout.isRemote(place)) {
                    owner.remoteMemory()
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

    /**
     * Begins a transfer of one piece through the fabric that nobody waits for; {@link #beginPosted} came before.
     *
     * @param ended called once with how it ended, after {@link #endPosted}
     * @return false when it was not begun; {@link #endPosted} is the caller's then
     */
    boolean tryPost(boolean write, LmrSlice slice, Consumer<@Nullable RuntimeException> ended) {
        MappedPlaces where = placed;
        MemorySegment local = slice.segment();
        long length = local.byteSize();
        if (length == 0) {
            return false;
        }
        long place = where.place(slice.offset());
        if (!Layout.isRemote(place) || where.pieceLength(slice.offset(), length) < length) {
            return false;
        }
        return owner.remoteMemory()
                .tryTransfer(
                        write,
                        Layout.nodeOf(place),
                        where.arenaOf(place),
                        Layout.offsetOf(place),
                        local,
                        deadline(0),
                        failure -> {
                            endPosted();
                            ended.accept(failure instanceof LmrUnavailableException e ? named(e) : failure);
                        });
    }

    /** {@link Mapping#fetchAdd} through the fabric; {@link #beginPosted} came before. */
    long fetchAddPosted(long place, long delta, @Nullable Deadline deadline, long timeoutNs) {
        try {
            MappedPlaces where = placed;
            return owner.remoteMemory()
                    .fetchAdd(
                            Layout.nodeOf(place),
                            where.arenaOf(place),
                            Layout.offsetOf(place),
                            delta,
                            deadline != null ? deadline : deadline(timeoutNs));
        } catch (LmrUnavailableException e) {
            throw named(e);
        } finally {
            posted.decrementAndGet();
        }
    }

    /** {@link Mapping#testSet} through the fabric; {@link #beginPosted} came before. */
    long testSetPosted(long place, long expected, long value, @Nullable Deadline deadline, long timeoutNs) {
        try {
            MappedPlaces where = placed;
            return owner.remoteMemory()
                    .testSet(
                            Layout.nodeOf(place),
                            where.arenaOf(place),
                            Layout.offsetOf(place),
                            expected,
                            value,
                            deadline != null ? deadline : deadline(timeoutNs));
        } catch (LmrUnavailableException e) {
            throw named(e);
        } finally {
            posted.decrementAndGet();
        }
    }

    /** The same, saying which LMR it was: the fabric knows of none. */
    private LmrUnavailableException named(LmrUnavailableException e) {
        return new LmrUnavailableException("%s: %s".formatted(this, e.getMessage()), e);
    }

    /** The deadline of an operation that begins now and may take {@code timeoutNs}; 0 stands for the owner's deadline. */
    Deadline deadline(long timeoutNs) {
        Deadline last = lastDeadline;
        Deadline deadline = Deadline.about(timeoutNs == 0 ? owner.deadline() : Duration.ofNanos(timeoutNs), last);
        if (deadline != last) {
            lastDeadline = deadline;
        }
        return deadline;
    }

    /** Thrown while the handle is paused, and caught where the operation can wait: outside of its in-flight slot. */
    static final class Moving extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Moving() {
            super("the LMR moves", null, false, false);
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

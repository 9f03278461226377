package dev.lite.tier.memory;

import dev.lite.api.LiteException;
import dev.lite.api.LmrBoundsException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.Permission;
import dev.lite.cluster.LmrRecord;
import dev.lite.os.RawMemory;
import dev.lite.tier.Deadline;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link Mapping} needs beyond an operation on a single mapped extent: the places of all chunks, the way through a
 * fabric, the words of a refusal. Any thread.
 */
final class MappedLmr {
    private static final MemorySegment ALL = RawMemory.all();

    private final LmrRecord lmr;
    private final @Nullable String name;
    private final int granted;
    private final Mapping.Owner owner;
    private final int chunkShift;
    private final long[] places;

    /** Whether every chunk is mapped into this process. */
    private final boolean direct;

    /** Operations that wait for a fabric, counted from inside their in-flight slot. */
    private final AtomicInteger posted = new AtomicInteger();

    private volatile @Nullable LiteException ended;

    private boolean released; // guarded by this

    MappedLmr(LmrRecord lmr, @Nullable String name, int granted, long[] places, Mapping.Owner owner) {
        this.lmr = lmr;
        this.name = name;
        this.granted = granted;
        this.owner = owner;
        this.chunkShift = lmr.chunkShift();
        this.places = places;
        boolean allMapped = true;
        for (long place : places) {
            allMapped &= !Layout.isRemote(place);
        }
        this.direct = allMapped;
    }

    /** The address of byte 0 when the LMR is one extent in mapped memory, else 0. */
    long onlyAddress() {
        return direct && places.length == 1 ? places[0] : 0;
    }

    LmrRecord lmr() {
        return lmr;
    }

    Mapping.Owner owner() {
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
        return true;
    }

    /** Whether this is the first call. */
    synchronized boolean release() {
        boolean first = !released;
        released = true;
        return first;
    }

    /** Why an operation is refused. */
    LiteException refusal(int needed, long offset, long length) {
        LiteException why = ended;
        if (why != null) {
            return why.code().exception("%s: %s".formatted(this, why.getMessage()));
        }
        if ((granted & needed) != needed) {
            return new LmrPermissionException("%s: the handle was mapped for %s; this needs %s"
                    .formatted(this, Permission.fromBits(granted), Permission.fromBits(needed)));
        }
        return new LmrBoundsException(
                "%s: offset %d, length %d lies outside of its %d bytes".formatted(this, offset, length, lmr.size()));
    }

    /** Where a byte lies: see {@link Layout}. */
    long place(long offset) {
        long place = places[(int) (offset >>> chunkShift)];
        return place + (offset & ((1L << chunkShift) - 1));
    }

    private long pieceLength(long offset, long length) {
        return Math.min(length, (1L << chunkShift) - (offset & ((1L << chunkShift) - 1)));
    }

    /**
     * Reads when every chunk is mapped; otherwise answers false, and {@link #readPosted} follows. Inside the in-flight slot.
     */
    boolean readMapped(long offset, MemorySegment destination, long at, long length) {
        if (direct) {
            readPieces(offset, destination, at, length);
        } else {
            beginPosted();
        }
        return direct;
    }

    /** {@link #readMapped} for a write. */
    boolean writeMapped(long offset, MemorySegment source, long at, long length) {
        if (direct) {
            writePieces(offset, source, at, length);
        } else {
            beginPosted();
        }
        return direct;
    }

    /** An operation leaves its in-flight slot to wait for a fabric. */
    void beginPosted() {
        posted.incrementAndGet();
    }

    /** Waits until nobody waits for a fabric; they have deadlines. */
    void awaitPosted() {
        for (int spins = 0; posted.get() > 0; spins++) {
            Waiting.pause(spins);
        }
    }

    private void readPieces(long offset, MemorySegment destination, long at, long length) {
        for (long done = 0; done < length; ) {
            long piece = pieceLength(offset + done, length - done);
            MemorySegment.copy(ALL, place(offset + done), destination, at + done, piece);
            done += piece;
        }
    }

    private void writePieces(long offset, MemorySegment source, long at, long length) {
        for (long done = 0; done < length; ) {
            long piece = pieceLength(offset + done, length - done);
            MemorySegment.copy(source, at + done, ALL, place(offset + done), piece);
            done += piece;
        }
    }

    /** Reads through the fabric; {@link #beginPosted} came before. */
    void readPosted(long offset, MemorySegment destination, long at, long length) {
        try {
            Deadline deadline = deadline();
            for (long done = 0; done < length; ) {
                long place = place(offset + done);
                long piece = pieceLength(offset + done, length - done);
                if (Layout.isRemote(place)) {
                    owner.remoteMemory()
                            .read(
                                    Layout.nodeOf(place),
                                    arenaOf(place),
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
        } finally {
            posted.decrementAndGet();
        }
    }

    /** Writes through the fabric; {@link #beginPosted} came before. */
    void writePosted(long offset, MemorySegment source, long at, long length) {
        try {
            Deadline deadline = deadline();
            for (long done = 0; done < length; ) {
                long place = place(offset + done);
                long piece = pieceLength(offset + done, length - done);
                if (Layout.isRemote(place)) {
                    owner.remoteMemory()
                            .write(
                                    Layout.nodeOf(place),
                                    arenaOf(place),
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
        } finally {
            posted.decrementAndGet();
        }
    }

    /** {@link Mapping#fetchAdd} through the fabric; {@link #beginPosted} came before. */
    long fetchAddPosted(long place, long delta) {
        try {
            return owner.remoteMemory()
                    .fetchAdd(Layout.nodeOf(place), arenaOf(place), Layout.offsetOf(place), delta, deadline());
        } finally {
            posted.decrementAndGet();
        }
    }

    /** {@link Mapping#testSet} through the fabric; {@link #beginPosted} came before. */
    long testSetPosted(long place, long expected, long value) {
        try {
            return owner.remoteMemory()
                    .testSet(Layout.nodeOf(place), arenaOf(place), Layout.offsetOf(place), expected, value, deadline());
        } finally {
            posted.decrementAndGet();
        }
    }

    private UUID arenaOf(long place) {
        int node = Layout.nodeOf(place);
        for (int index = 0; index < lmr.shares().size(); index++) {
            if (lmr.shares().get(index).node() == node) {
                return lmr.shares().get(index).arena();
            }
        }
        throw new IllegalStateException("%s has no share on node %d".formatted(this, node));
    }

    private Deadline deadline() {
        return Deadline.in(owner.deadline());
    }

    @Override
    public String toString() {
        return name != null ? "LMR \"%s\"".formatted(name) : "anonymous LMR %d".formatted(lmr.id());
    }
}

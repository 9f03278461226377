package dev.lite.tier.memory;

import dev.lite.api.Extent;
import dev.lite.api.LiteException;
import dev.lite.api.LmrBoundsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.Permission;
import dev.lite.cluster.LmrRecord;
import dev.lite.os.RawMemory;
import dev.lite.tier.Deadline;
import dev.lite.tier.TierHandle;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A handle of this process on an LMR: the mapping and the permission are here, at the node that accesses, and a local check
 * is all that stands before the copy (paper §4.1).
 *
 * <p>The hot fields are in this one object, so that an operation on one LMR of very many misses the cache once before it
 * reaches the data. {@code rights} says in one word whether the operation is allowed: it becomes 0 when the handle is
 * unmapped, or the LMR freed or lost, and {@link #refusal} finds the words for it. For the protocol see {@link InFlight}.
 */
public final class Mapping implements TierHandle {
    /** What a handle needs of its node and session beyond its own data. */
    public interface Owner {
        /** The LMR's memory on nodes that are not mapped. */
        dev.lite.tier.RemoteMemory remoteMemory();

        /** How long an operation may wait. */
        Duration deadline();

        /** The name of a node, for {@link #extents}. */
        String nodeName(int node);

        /** Takes the handle out of the books; it has lost its rights and nobody is in it. Called once for each. */
        void unmapped(Mapping mapping);

        /** Frees the LMR for everybody, this mapping included. */
        void free(Mapping mapping);
    }

    private static final VarHandle RIGHTS;
    private static final MemorySegment ALL = RawMemory.all();
    private static final int READ = Permission.READ.bit();
    private static final int WRITE = Permission.WRITE.bit();
    private static final int ATOMIC = Permission.ATOMIC.bit();

    static {
        try {
            RIGHTS = MethodHandles.lookup().findVarHandle(Mapping.class, "rights", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final long number = InFlight.newNumber();
    private final long size;

    /** The address of byte 0 when the LMR is one extent in mapped memory, else 0. */
    private final long base;

    @SuppressWarnings("UnusedVariable") // through RIGHTS
    private int rights;

    private final int chunkShift;
    private final boolean direct;
    private final long[] places;

    private final LmrRecord lmr;
    private final @Nullable String name;
    private final int granted;
    private final Owner owner;

    /** Operations that wait for a fabric, counted from inside their in-flight slot. */
    private final AtomicInteger posted = new AtomicInteger();

    private volatile @Nullable LiteException ended;

    private boolean released; // guarded by posted

    /**
     * @param granted the permission bits it is good for
     * @param places from {@link Layout#places}; the mapping's own from now on
     */
    public Mapping(LmrRecord lmr, @Nullable String name, int granted, long[] places, Owner owner) {
        this.lmr = lmr;
        this.name = name;
        this.granted = granted;
        this.owner = owner;
        this.size = lmr.size();
        this.chunkShift = lmr.chunkShift();
        this.places = places;
        boolean allMapped = true;
        for (long place : places) {
            allMapped &= !Layout.isRemote(place);
        }
        this.direct = allMapped;
        this.base = allMapped && places.length == 1 ? places[0] : 0;
        RIGHTS.setRelease(this, granted);
    }

    @Override
    public void read(long offset, MemorySegment destination) {
        read(offset, destination, 0, destination.byteSize());
    }

    @Override
    public void write(long offset, MemorySegment source) {
        write(offset, source, 0, source.byteSize());
    }

    @Override
    public void read(long offset, long address, long length) {
        read(offset, ALL, address, length);
    }

    @Override
    public void write(long offset, long address, long length) {
        write(offset, ALL, address, length);
    }

    private void read(long offset, MemorySegment destination, long at, long length) {
        long slot = InFlight.enter(number);
        try {
            check(READ, offset, length);
            if (base != 0) {
                MemorySegment.copy(ALL, base + offset, destination, at, length);
                return;
            }
            if (direct) {
                readPieces(offset, destination, at, length);
                return;
            }
            posted.incrementAndGet();
        } finally {
            InFlight.exit(slot);
        }
        readPosted(offset, destination, at, length);
    }

    private void write(long offset, MemorySegment source, long at, long length) {
        long slot = InFlight.enter(number);
        try {
            check(WRITE, offset, length);
            if (base != 0) {
                MemorySegment.copy(source, at, ALL, base + offset, length);
                return;
            }
            if (direct) {
                writePieces(offset, source, at, length);
                return;
            }
            posted.incrementAndGet();
        } finally {
            InFlight.exit(slot);
        }
        writePosted(offset, source, at, length);
    }

    @Override
    public long fetchAdd(long offset, long delta) {
        long place;
        long slot = InFlight.enter(number);
        try {
            checkWord(offset);
            place = place(offset);
            if (!Layout.isRemote(place)) {
                return RawMemory.getAndAddLong(place, delta);
            }
            posted.incrementAndGet();
        } finally {
            InFlight.exit(slot);
        }
        try {
            return owner.remoteMemory()
                    .fetchAdd(Layout.nodeOf(place), arenaOf(place), Layout.offsetOf(place), delta, deadline());
        } finally {
            posted.decrementAndGet();
        }
    }

    @Override
    public long testSet(long offset, long expected, long value) {
        long place;
        long slot = InFlight.enter(number);
        try {
            checkWord(offset);
            place = place(offset);
            if (!Layout.isRemote(place)) {
                return RawMemory.compareAndExchangeLong(place, expected, value);
            }
            posted.incrementAndGet();
        } finally {
            InFlight.exit(slot);
        }
        try {
            return owner.remoteMemory()
                    .testSet(Layout.nodeOf(place), arenaOf(place), Layout.offsetOf(place), expected, value, deadline());
        } finally {
            posted.decrementAndGet();
        }
    }

    /** The one check of every operation: rights and bounds. Must run between enter and exit. */
    private void check(int needed, long offset, long length) {
        if (((int) RIGHTS.getAcquire(this) & needed) == 0 || (offset | length) < 0 || offset > size - length) {
            throw refusal(needed, offset, length);
        }
    }

    private void checkWord(long offset) {
        check(ATOMIC, offset, Long.BYTES);
        if ((offset & (Long.BYTES - 1)) != 0) {
            throw new LmrBoundsException(
                    "%s: offset %d is not a multiple of 8, which an atomic word needs".formatted(this, offset));
        }
    }

    private LiteException refusal(int needed, long offset, long length) {
        LiteException why = ended;
        if (why != null) {
            return why.code().exception("%s: %s".formatted(this, why.getMessage()));
        }
        if ((granted & needed) != needed) {
            return new LmrPermissionException("%s: the handle was mapped for %s; this needs %s"
                    .formatted(this, Permission.fromBits(granted), Permission.fromBits(needed)));
        }
        return new LmrBoundsException(
                "%s: offset %d, length %d lies outside of its %d bytes".formatted(this, offset, length, size));
    }

    private long place(long offset) {
        long place = places[(int) (offset >>> chunkShift)];
        return place + (offset & ((1L << chunkShift) - 1));
    }

    private long pieceLength(long offset, long length) {
        return Math.min(length, (1L << chunkShift) - (offset & ((1L << chunkShift) - 1)));
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

    private void readPosted(long offset, MemorySegment destination, long at, long length) {
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

    private void writePosted(long offset, MemorySegment source, long at, long length) {
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
    public long id() {
        return lmr.id();
    }

    @Override
    public Optional<String> name() {
        return Optional.ofNullable(name);
    }

    @Override
    public long size() {
        return size;
    }

    @Override
    public Set<Permission> permissions() {
        return Permission.fromBits(granted);
    }

    @Override
    public List<Extent> extents() {
        checkMaster();
        return Layout.extents(lmr, owner::nodeName);
    }

    private void checkMaster() {
        int needed = Permission.MASTER.bit();
        if (((int) RIGHTS.getAcquire(this) & needed) == 0) {
            throw refusal(needed, 0, 0);
        }
    }

    @Override
    public void unmap() {
        end(new LmrFreedException("the handle was unmapped"));
        awaitEnd(List.of(this));
        release();
    }

    /** Takes a handle that has ended, and that nobody is in any more, out of its owner's books. A second call does nothing. */
    public void release() {
        synchronized (posted) {
            if (released) {
                return;
            }
            released = true;
        }
        owner.unmapped(this);
    }

    @Override
    public void free() {
        checkMaster();
        owner.free(this);
    }

    /** What the directory said of the LMR when it was mapped. */
    public LmrRecord lmr() {
        return lmr;
    }

    /** Whose it is. */
    public Owner owner() {
        return owner;
    }

    /**
     * Takes the rights away: from the return on no operation begins. The caller then {@linkplain #awaitEnd waits} for
     * those under way.
     *
     * @param why what those who try are told
     * @return false when it had ended before
     */
    public boolean end(LiteException why) {
        synchronized (posted) {
            if (ended != null) {
                return false;
            }
            ended = why;
        }
        RIGHTS.setVolatile(this, 0);
        return true;
    }

    /** Waits for the operations on these mappings that were under way when they ended; each has a deadline. */
    public static void awaitEnd(Collection<Mapping> mappings) {
        if (mappings.size() == 1) {
            long only = mappings.iterator().next().number;
            InFlight.awaitEnd(number -> number == only);
        } else {
            Set<Long> numbers = new HashSet<>();
            mappings.forEach(mapping -> numbers.add(mapping.number));
            InFlight.awaitEnd(numbers::contains);
        }
        for (Mapping mapping : mappings) {
            for (int spins = 0; mapping.posted.get() > 0; spins++) {
                Waiting.pause(spins);
            }
        }
    }

    @Override
    public String toString() {
        return name != null ? "LMR \"%s\"".formatted(name) : "anonymous LMR %d".formatted(lmr.id());
    }
}

package dev.lite.tier.memory;

import dev.lite.api.Extent;
import dev.lite.api.LiteException;
import dev.lite.api.LmrBoundsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.Permission;
import dev.lite.cluster.LmrRecord;
import dev.lite.os.RawMemory;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.TierHandle;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A handle of this process on an LMR: the mapping and the permission are here, at the node that accesses, and a local check
 * is all that stands before the copy (paper §4.1). For the protocol of that check see {@link InFlight}.
 *
 * <p>This object has what every operation needs and nothing else, so that it is small (40 bytes), and {@link BlankMappings}
 * makes many of them side by side: an operation on one LMR of very many then misses the cache once before it reaches the
 * data. The rest is in {@link MappedLmr}.
 */
public final class Mapping implements TierHandle {
    /** What a handle needs of its node and session beyond its own data. */
    public interface Owner {
        /** The LMR's memory on nodes that are not mapped. */
        RemoteMemory remoteMemory();

        /** How long an operation may wait. */
        Duration deadline();

        /** The name of a node, for {@link #extents}. */
        String nodeName(int node);

        /** Takes the handle out of the books; it has lost its rights and nobody is in it. Called once for each. */
        void unmapped(Mapping mapping);

        /** Frees the LMR for everybody, this mapping included. */
        void free(Mapping mapping);
    }

    private static final VarHandle TAG;
    private static final MemorySegment ALL = RawMemory.all();
    private static final int READ = Permission.READ.bit();
    private static final int WRITE = Permission.WRITE.bit();
    private static final int ATOMIC = Permission.ATOMIC.bit();
    private static final int RIGHTS_BITS = 4;
    private static final int RIGHTS_MASK = (1 << RIGHTS_BITS) - 1;

    static {
        try {
            TAG = MethodHandles.lookup().findVarHandle(Mapping.class, "tag", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    // Set once, before anybody else sees the handle, and fenced like final fields: see open(). Only the rights in the
    // tag
    // change, to none.

    /** The number in {@link InFlight}, and in the lowest bits the rights: none when the handle has ended. */
    private int tag;

    private long size;

    /** The address of byte 0 when the LMR is one extent in mapped memory, else 0. */
    private long base;

    private @Nullable MappedLmr rest;

    Mapping() {}

    /**
     * A new handle.
     *
     * @param granted the permission bits it is good for
     * @param places from {@link Layout#places}; the mapping's own from now on
     */
    public static Mapping open(LmrRecord lmr, @Nullable String name, int granted, long[] places, Owner owner) {
        Mapping mapping = BlankMappings.take();
        MappedLmr rest = new MappedLmr(lmr, name, granted, places, owner);
        mapping.rest = rest;
        mapping.size = lmr.size();
        mapping.base = rest.onlyAddress();
        mapping.tag = InFlight.newNumber() << RIGHTS_BITS | granted;
        VarHandle.storeStoreFence();
        return mapping;
    }

    private MappedLmr rest() {
        return Objects.requireNonNull(rest, "a blank handle");
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
        long slot = InFlight.enter(number());
        try {
            check(READ, offset, length);
            if (base != 0) {
                MemorySegment.copy(ALL, base + offset, destination, at, length);
                return;
            }
            if (rest().readMapped(offset, destination, at, length)) {
                return;
            }
        } finally {
            InFlight.exit(slot);
        }
        rest().readPosted(offset, destination, at, length);
    }

    private void write(long offset, MemorySegment source, long at, long length) {
        long slot = InFlight.enter(number());
        try {
            check(WRITE, offset, length);
            if (base != 0) {
                MemorySegment.copy(source, at, ALL, base + offset, length);
                return;
            }
            if (rest().writeMapped(offset, source, at, length)) {
                return;
            }
        } finally {
            InFlight.exit(slot);
        }
        rest().writePosted(offset, source, at, length);
    }

    @Override
    public long fetchAdd(long offset, long delta) {
        long place;
        long slot = InFlight.enter(number());
        try {
            checkWord(offset);
            place = base != 0 ? base + offset : rest().place(offset);
            if (!Layout.isRemote(place)) {
                return RawMemory.getAndAddLong(place, delta);
            }
            rest().beginPosted();
        } finally {
            InFlight.exit(slot);
        }
        return rest().fetchAddPosted(place, delta);
    }

    @Override
    public long testSet(long offset, long expected, long value) {
        long place;
        long slot = InFlight.enter(number());
        try {
            checkWord(offset);
            place = base != 0 ? base + offset : rest().place(offset);
            if (!Layout.isRemote(place)) {
                return RawMemory.compareAndExchangeLong(place, expected, value);
            }
            rest().beginPosted();
        } finally {
            InFlight.exit(slot);
        }
        return rest().testSetPosted(place, expected, value);
    }

    /** The one check of every operation: rights and bounds. Must run between enter and exit. */
    private void check(int needed, long offset, long length) {
        if (((int) TAG.getAcquire(this) & needed) == 0 || (offset | length) < 0 || offset > size - length) {
            throw rest().refusal(needed, offset, length);
        }
    }

    private void checkWord(long offset) {
        check(ATOMIC, offset, Long.BYTES);
        if ((offset & (Long.BYTES - 1)) != 0) {
            throw new LmrBoundsException(
                    "%s: offset %d is not a multiple of 8, which an atomic word needs".formatted(this, offset));
        }
    }

    private void checkMaster() {
        int needed = Permission.MASTER.bit();
        if (((int) TAG.getAcquire(this) & needed) == 0) {
            throw rest().refusal(needed, 0, 0);
        }
    }

    private int number() {
        return tag >>> RIGHTS_BITS;
    }

    @Override
    public long id() {
        return rest().lmr().id();
    }

    @Override
    public Optional<String> name() {
        return rest().name();
    }

    @Override
    public long size() {
        return size;
    }

    @Override
    public Set<Permission> permissions() {
        return rest().permissions();
    }

    @Override
    public List<Extent> extents() {
        checkMaster();
        return Layout.extents(rest().lmr(), owner()::nodeName);
    }

    @Override
    public void unmap() {
        end(new LmrFreedException("the handle was unmapped"));
        awaitEnd(List.of(this));
        release();
    }

    @Override
    public void free() {
        checkMaster();
        owner().free(this);
    }

    /** Who makes the outcome of an addition known before the addition counts as ended; see {@link #awaitOperations}. */
    public interface Drawer {
        /** Just before the addition; what it throws prevents it. Must not block. */
        void beforeDraw();

        /** Just after it. Must not block. */
        void drawn(long before);
    }

    /**
     * {@link #fetchAdd(long, long)} of a word of {@linkplain #isOneMappedExtent mapped} memory, within one operation with what
     * the drawer does: whoever {@linkplain #awaitOperations waits} for the operation finds its outcome noted.
     */
    public long fetchAdd(long offset, long delta, Drawer drawer) {
        long slot = InFlight.enter(number());
        try {
            checkWord(offset);
            drawer.beforeDraw();
            long before = RawMemory.getAndAddLong(base + offset, delta);
            drawer.drawn(before);
            return before;
        } finally {
            InFlight.exit(slot);
        }
    }

    /** Waits until every operation on mapped memory that was begun before the call is over. The handle stays good. */
    public void awaitOperations() {
        long mine = number();
        // A thread that begins the next one at once may be waited for again; sooner or later it is seen in between.
        InFlight.awaitEnd(number -> number == mine);
    }

    /** Whether the whole LMR is one extent in memory that is mapped here, so that no operation waits for a fabric. */
    public boolean isOneMappedExtent() {
        return base != 0;
    }

    /** What the directory said of the LMR when it was mapped. */
    public LmrRecord lmr() {
        return rest().lmr();
    }

    /** Whose it is. */
    public Owner owner() {
        return rest().owner();
    }

    /**
     * Takes the rights away: from the return on no operation begins. The caller then {@linkplain #awaitEnd waits} for
     * those under way.
     *
     * @param why what those who try are told
     * @return false when it had ended before
     */
    public boolean end(LiteException why) {
        if (!rest().end(why)) {
            return false;
        }
        TAG.setVolatile(this, tag & ~RIGHTS_MASK);
        return true;
    }

    /** Waits for the operations on these mappings that were under way when they ended; each has a deadline. */
    public static void awaitEnd(Collection<Mapping> mappings) {
        if (mappings.size() == 1) {
            long only = mappings.iterator().next().number();
            InFlight.awaitEnd(number -> number == only);
        } else {
            Set<Long> numbers = new HashSet<>();
            mappings.forEach(mapping -> numbers.add((long) mapping.number()));
            InFlight.awaitEnd(numbers::contains);
        }
        mappings.forEach(mapping -> mapping.rest().awaitPosted());
    }

    /** Takes a handle that has ended, and that nobody is in any more, out of its owner's books. A second call does nothing. */
    public void release() {
        if (rest().release()) {
            owner().unmapped(this);
        }
    }

    @Override
    public String toString() {
        return rest().toString();
    }
}

package dev.lite.tier.memory;

import dev.lite.api.Extent;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrBoundsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSlice;
import dev.lite.api.Permission;
import dev.lite.cluster.LmrRecord;
import dev.lite.os.InFlight;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.TierHandle;
import dev.lite.tier.memory.MappedLmr.Moving;
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
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
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

    // Set once, before anybody else sees the handle, and fenced like final fields: see open(). Later only the
    // rights in the tag change, and the base while they are none: resume() stores it before it gives them back.

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
    public static Mapping open(LmrRecord lmr, @Nullable String name, int granted, long[] places, MappingOwner owner) {
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
        read(offset, destination, 0, destination.byteSize(), 0);
    }

    @Override
    public void write(long offset, MemorySegment source) {
        write(offset, source, 0, source.byteSize(), 0);
    }

    @Override
    public void read(long offset, long address, long length, long timeoutNs) {
        read(offset, ALL, address, length, timeoutNs);
    }

    @Override
    public void write(long offset, long address, long length, long timeoutNs) {
        write(offset, ALL, address, length, timeoutNs);
    }

    private void read(long offset, MemorySegment destination, long at, long length, long timeoutNs) {
        try {
            readNow(offset, destination, at, length, timeoutNs);
        } catch (Moving paused) {
            afterMove(timeoutNs, () -> readNow(offset, destination, at, length, timeoutNs));
        }
    }

    private void readNow(long offset, MemorySegment destination, long at, long length, long timeoutNs) {
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
        rest().readPosted(offset, destination, at, length, timeoutNs);
    }

    private void write(long offset, MemorySegment source, long at, long length, long timeoutNs) {
        try {
            writeNow(offset, source, at, length, timeoutNs);
        } catch (Moving paused) {
            afterMove(timeoutNs, () -> writeNow(offset, source, at, length, timeoutNs));
        }
    }

    private void writeNow(long offset, MemorySegment source, long at, long length, long timeoutNs) {
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
        rest().writePosted(offset, source, at, length, timeoutNs);
    }

    @Override
    public long fetchAdd(long offset, long delta) {
        return fetchAdd(offset, delta, 0);
    }

    @Override
    public long fetchAdd(long offset, long delta, long timeoutNs) {
        return fetchAdd(offset, delta, null, timeoutNs);
    }

    /**
     * {@link #fetchAdd(long, long)} with a deadline of its own for a word that is reached through a fabric.
     *
     * @param deadline null: the owner's
     */
    public long fetchAdd(long offset, long delta, @Nullable Deadline deadline) {
        return fetchAdd(offset, delta, deadline, 0);
    }

    private long fetchAdd(long offset, long delta, @Nullable Deadline deadline, long timeoutNs) {
        try {
            return fetchAddNow(offset, delta, deadline, timeoutNs);
        } catch (Moving paused) {
            long[] before = new long[1];
            afterMove(timeoutNs, () -> before[0] = fetchAddNow(offset, delta, deadline, timeoutNs));
            return before[0];
        }
    }

    private long fetchAddNow(long offset, long delta, @Nullable Deadline deadline, long timeoutNs) {
        long place;
        long slot = InFlight.enter(number());
        try {
            checkWord(offset);
            place = base != 0 ? base + offset : rest().placed().place(offset);
            if (!Layout.isRemote(place)) {
                return RawMemory.getAndAddLong(place, delta);
            }
            rest().beginPosted();
        } finally {
            InFlight.exit(slot);
        }
        return rest().fetchAddPosted(place, delta, deadline, timeoutNs);
    }

    @Override
    public long testSet(long offset, long expected, long value) {
        return testSet(offset, expected, value, 0);
    }

    @Override
    public long testSet(long offset, long expected, long value, long timeoutNs) {
        return testSet(offset, expected, value, null, timeoutNs);
    }

    /** {@link #fetchAdd(long, long, Deadline)} for {@link #testSet(long, long, long)}. */
    public long testSet(long offset, long expected, long value, @Nullable Deadline deadline) {
        return testSet(offset, expected, value, deadline, 0);
    }

    private long testSet(long offset, long expected, long value, @Nullable Deadline deadline, long timeoutNs) {
        try {
            return testSetNow(offset, expected, value, deadline, timeoutNs);
        } catch (Moving paused) {
            long[] before = new long[1];
            afterMove(timeoutNs, () -> before[0] = testSetNow(offset, expected, value, deadline, timeoutNs));
            return before[0];
        }
    }

    private long testSetNow(long offset, long expected, long value, @Nullable Deadline deadline, long timeoutNs) {
        long place;
        long slot = InFlight.enter(number());
        try {
            checkWord(offset);
            place = base != 0 ? base + offset : rest().placed().place(offset);
            if (!Layout.isRemote(place)) {
                return RawMemory.compareAndExchangeLong(place, expected, value);
            }
            rest().beginPosted();
        } finally {
            InFlight.exit(slot);
        }
        return rest().testSetPosted(place, expected, value, deadline, timeoutNs);
    }

    /**
     * Does an operation that met a move, once that is over; it may meet the next one. Apart from the operations, so that the
     * compiler finds them without a loop.
     */
    private void afterMove(long timeoutNs, Runnable operation) {
        Deadline deadline = rest().deadline(timeoutNs);
        while (true) {
            rest().awaitResumed(deadline);
            try {
                operation.run();
                return;
            } catch (Moving again) {
                // Waits again, within the same deadline.
            }
        }
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
        try {
            check(Permission.MASTER.bit(), 0, 0);
        } catch (Moving paused) {
            afterMove(0, () -> check(Permission.MASTER.bit(), 0, 0));
        }
    }

    /**
     * Holds a range where it is for a long operation: the LMR is not moved, freed or taken away before {@link #endHold}. Not
     * inside an in-flight slot.
     *
     * @param needed permission bits
     * @return false when the LMR moves just now
     */
    boolean tryHold(int needed, long offset, long length) {
        long slot = InFlight.enter(number());
        try {
            check(needed, offset, length);
            rest().beginPosted();
            return true;
        } catch (Moving paused) {
            return false;
        } finally {
            InFlight.exit(slot);
        }
    }

    /** {@link #tryHold}, after a move if there is one. */
    void hold(int needed, long offset, long length, Deadline deadline) {
        while (!tryHold(needed, offset, length)) {
            rest().awaitResumed(deadline);
        }
    }

    /** The end of a hold. Any thread. */
    void endHold() {
        rest().endPosted();
    }

    void awaitResumed(Deadline deadline) {
        rest().awaitResumed(deadline);
    }

    /** Where it lies; stable during a hold. */
    MappedPlaces placed() {
        return rest().placed();
    }

    @Override
    public void memset(long offset, long length, byte value) {
        memset(offset, length, value, 0);
    }

    @Override
    public void memset(long offset, long length, byte value, long timeoutNs) {
        BulkOperations.memset(this, offset, length, value, rest().deadline(timeoutNs));
    }

    @Override
    public void read(List<LmrSlice> slices) {
        SliceOperations.read(this, slices);
    }

    @Override
    public void write(List<LmrSlice> slices) {
        SliceOperations.write(this, slices);
    }

    @Override
    public CompletableFuture<@Nullable Void> readAsync(List<LmrSlice> slices) {
        return SliceOperations.readAsync(this, slices);
    }

    @Override
    public CompletableFuture<@Nullable Void> writeAsync(List<LmrSlice> slices) {
        return SliceOperations.writeAsync(this, slices);
    }

    /** Begins a transfer of one slice that nobody waits for, during a {@linkplain #tryHold hold}: see {@link MappedLmr#tryPost}. */
    boolean tryPost(boolean write, LmrSlice slice, Consumer<@Nullable RuntimeException> ended) {
        return rest().tryPost(write, slice, ended);
    }

    /** When an operation that begins now has to be over. */
    Deadline deadline() {
        return rest().deadline(0);
    }

    @Override
    public void grant(String principal, Set<Permission> permissions) {
        grant(principal, permissions, owner().deadline());
    }

    @Override
    public void grant(String principal, Set<Permission> permissions, Duration deadline) {
        if (principal.isBlank()) {
            throw new IllegalArgumentException("%s: the principal's name is blank".formatted(this));
        }
        checkMaster();
        handleOwner().grant(this, principal, permissions, Deadline.in(deadline));
    }

    @Override
    public void moveTo(String node) {
        moveTo(node, owner().deadline());
    }

    @Override
    public void moveTo(String node, Duration deadline) {
        checkMaster();
        handleOwner().moveTo(this, node, Deadline.in(deadline));
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
        unmap(owner().deadline());
    }

    @Override
    public void unmap(Duration timeout) {
        Deadline deadline = Deadline.in(timeout);
        end(new LmrFreedException("the handle was unmapped"));
        if (!awaitEnd(List.of(this), deadline)) {
            throw new LiteTimeoutException(
                    deadline.expired("unmap of %s: an operation is still under way".formatted(this)));
        }
        release();
    }

    @Override
    public void free() {
        free(owner().deadline());
    }

    @Override
    public void free(Duration deadline) {
        checkMaster();
        handleOwner().free(this, Deadline.in(deadline));
    }

    /** Makes the outcome of an addition known before the addition counts as ended; see {@link #awaitOperations}. */
    public interface Drawer {
        /** Just before the addition; what it throws prevents it. Must not block. */
        void beforeDraw();

        /** Just after it. Must not block. */
        void drawn(long before);
    }

    /** The word cannot be reached in one step just now: it moves, or has moved to where it is not mapped. */
    public static final class NotMappedException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        NotMappedException() {
            super("the word is not mapped", null, false, false);
        }
    }

    /**
     * {@link #fetchAdd(long, long)} of a word of {@linkplain #isOneMappedExtent mapped} memory, within one operation with what
     * the drawer does: a thread that {@linkplain #awaitOperations waits} for the operation finds its outcome noted.
     *
     * @throws NotMappedException when the word is not mapped; nothing was done then
     */
    public long fetchAdd(long offset, long delta, Drawer drawer) {
        try {
            return fetchAddNow(offset, delta, drawer);
        } catch (Moving paused) {
            throw new NotMappedException();
        }
    }

    private long fetchAddNow(long offset, long delta, Drawer drawer) {
        long slot = InFlight.enter(number());
        try {
            checkWord(offset);
            if (base == 0) {
                throw new NotMappedException();
            }
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

    /** What was known of the LMR when it was mapped, or after its last move. */
    public LmrRecord lmr() {
        return rest().lmr();
    }

    /** Whose it is. */
    public MappingOwner owner() {
        return rest().owner();
    }

    /**
     * Whose handle it is.
     *
     * @throws LmrPermissionException when the node itself owns it, for a lock or barrier
     */
    HandleOwner handleOwner() {
        if (owner() instanceof HandleOwner handleOwner) {
            return handleOwner;
        }
        throw new LmrPermissionException(
                "%s belongs to the node: it is good for atomic operations only".formatted(this));
    }

    /**
     * Takes the rights away: from the return on no operation begins. The caller then {@linkplain #awaitEnd waits} for
     * those under way.
     *
     * @param why the exception of callers that try
     * @return false when it had ended before
     */
    public boolean end(LiteException why) {
        MappedLmr lmr = rest();
        synchronized (lmr) {
            if (!lmr.end(why)) {
                return false;
            }
            TAG.setVolatile(this, tag & ~RIGHTS_MASK);
            return true;
        }
    }

    /**
     * Takes the rights away for a while: operations that come now wait for {@link #resume}. The caller then
     * {@linkplain #awaitEnd waits} for those under way.
     */
    public void pause() {
        MappedLmr lmr = rest();
        synchronized (lmr) {
            if (lmr.pause()) {
                TAG.setVolatile(this, tag & ~RIGHTS_MASK);
            }
        }
    }

    /**
     * Ends a pause.
     *
     * @param record what the LMR is now. When it lies elsewhere than before, or less is allowed, the caller has waited for
     *     the operations that were under way.
     * @param places of the record
     * @param allowed permission bits; the handle is good for those of them that it had
     */
    public void resume(LmrRecord record, long[] places, int allowed) {
        MappedLmr lmr = rest();
        synchronized (lmr) {
            if (lmr.hasEnded()) {
                return;
            }
            int rights = lmr.granted() & allowed;
            lmr.place(new MappedPlaces(record, places), rights);
            base = lmr.onlyAddress();
            TAG.setVolatile(this, (tag & ~RIGHTS_MASK) | rights); // after the base
            lmr.stopPause();
        }
    }

    /** Whether it is paused. */
    public boolean isPaused() {
        return rest().isPaused();
    }

    /** The permission bits that it is good for. */
    public int granted() {
        return rest().granted();
    }

    /**
     * Waits for the operations on these mappings that were under way when they lost their rights.
     *
     * @return false when one of them is still under way at the deadline
     */
    public static boolean awaitEnd(Collection<Mapping> mappings, Deadline deadline) {
        if (mappings.size() == 1) {
            long only = mappings.iterator().next().number();
            InFlight.awaitEnd(number -> number == only);
        } else {
            Set<Long> numbers = new HashSet<>();
            mappings.forEach(mapping -> numbers.add((long) mapping.number()));
            InFlight.awaitEnd(numbers::contains);
        }
        boolean ended = true;
        for (Mapping mapping : mappings) {
            ended &= mapping.rest().awaitPosted(deadline);
        }
        return ended;
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

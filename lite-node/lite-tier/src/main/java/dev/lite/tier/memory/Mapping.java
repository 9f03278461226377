package dev.lite.tier.memory;

import dev.lite.api.Extent;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrBoundsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSlice;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.Priority;
import dev.lite.cluster.LmrRecord;
import dev.lite.fabric.AddressRange;
import dev.lite.os.InFlight;
import dev.lite.os.RawMemory;
import dev.lite.os.Segments;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.Access;
import dev.lite.tier.Admission;
import dev.lite.tier.Operation;
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
 * A handle of this process on an LMR. The accessing node holds the mapping and the permission, so an operation makes
 * one local check and then copies (paper §4.1). {@link InFlight} describes the protocol of that check.
 *
 * <p>This object holds only what every operation needs, so it is small (40 bytes). {@link BlankMappings} makes many of
 * them side by side. With very many LMRs, an operation then misses the cache once before it reaches the data. The rest
 * is in {@link MappedLmr}.
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

    // open() sets these fields before it publishes the handle, with the fence that final fields get. Later only the
    // rights in the tag change, and the base: to another place while there are no rights, since resume() stores the
    // base before the rights; and to 0 and back by gate() at any time. So an operation reads the base once.

    /** The number in {@link InFlight}; the lowest bits are the rights, which are 0 when the handle has ended. */
    private int tag;

    private long size;

    /** The address of byte 0 if the LMR is one extent in mapped memory and operations need not ask first, else 0. */
    private long base;

    private @Nullable MappedLmr rest;

    Mapping() {}

    /**
     * Opens a new handle.
     *
     * @param blanks where the handle comes from; one for each node
     * @param granted the permission bits of the handle
     * @param places from {@link Layout#places}; the mapping owns the array from now on
     */
    public static Mapping open(
            BlankMappings blanks,
            LmrRecord lmr,
            @Nullable String name,
            int granted,
            long[] places,
            MappingOwner owner) {
        Mapping mapping = blanks.take();
        MappedLmr rest = new MappedLmr(lmr, name, granted, places, owner);
        mapping.rest = rest;
        mapping.size = lmr.size();
        mapping.base = owner.isGated() ? 0 : rest.onlyAddress();
        mapping.tag = (owner.isCounted() ? InFlight.newCountedNumber() : InFlight.newNumber()) << RIGHTS_BITS | granted;
        VarHandle.storeStoreFence();
        return mapping;
    }

    private MappedLmr rest() {
        return Objects.requireNonNull(rest, "a blank handle");
    }

    @Override
    public void read(long offset, MemorySegment destination) {
        read(offset, destination, null);
    }

    /** @param begun the deadline if it has begun */
    void read(long offset, MemorySegment destination, @Nullable Deadline begun) {
        try {
            read(offset, destination, 0, destination.byteSize(), begun, 0);
        } catch (IllegalArgumentException | IllegalStateException | NullPointerException | WrongThreadException e) {
            Segments.requireWritable("destination", destination); // only now: the copy checks it, too
            throw e;
        }
    }

    @Override
    public void write(long offset, MemorySegment source) {
        write(offset, source, null);
    }

    /** @param begun the deadline if it has begun */
    void write(long offset, MemorySegment source, @Nullable Deadline begun) {
        try {
            write(offset, source, 0, source.byteSize(), begun, 0);
        } catch (IllegalArgumentException | IllegalStateException | NullPointerException | WrongThreadException e) {
            Segments.requireReadable("source", source);
            throw e;
        }
    }

    @Override
    public void read(long offset, long address, long length, long timeoutNs) {
        read(offset, ALL, address, length, null, timeoutNs);
    }

    @Override
    public void write(long offset, long address, long length, long timeoutNs) {
        write(offset, ALL, address, length, null, timeoutNs);
    }

    private void read(
            long offset, MemorySegment destination, long at, long length, @Nullable Deadline begun, long timeoutNs) {
        if (base == 0) {
            read(false, offset, destination, at, length, begun, timeoutNs);
        } else {
            readAdmitted(false, offset, destination, at, length, begun, timeoutNs);
        }
    }

    /** A read that may have to ask first. */
    void read(
            boolean low,
            long offset,
            MemorySegment destination,
            long at,
            long length,
            @Nullable Deadline begun,
            long timeoutNs) {
        Admission admission = rest().owner().admission(low);
        if (admission == null) {
            readAdmitted(low, offset, destination, at, length, begun, timeoutNs);
            return;
        }
        boolean mapped = isMapped();
        Deadline deadline = takePermits(admission, mapped, READ, offset, length, begun, timeoutNs);
        long beginNs = admission.begin(mapped);
        try {
            readAdmitted(low, offset, destination, at, length, deadline, timeoutNs);
        } finally {
            admission.end(mapped, length, beginNs);
        }
    }

    /** A read that need not ask, or has asked. */
    void readAdmitted(
            boolean low,
            long offset,
            MemorySegment destination,
            long at,
            long length,
            @Nullable Deadline begun,
            long timeoutNs) {
        try {
            readNow(low, offset, destination, at, length, begun, timeoutNs);
        } catch (Moving paused) {
            Deadline deadline = rest().deadline(begun, timeoutNs);
            afterMove(deadline, () -> readNow(low, offset, destination, at, length, deadline, 0));
        }
    }

    private void readNow(
            boolean low,
            long offset,
            MemorySegment destination,
            long at,
            long length,
            @Nullable Deadline begun,
            long timeoutNs) {
        long slot = InFlight.enter(number(low));
        try {
            check(READ, offset, length);
            long start = base;
            if (start != 0) {
                MemorySegment.copy(ALL, start + offset, destination, at, length);
                return;
            }
            if (rest().readMapped(offset, destination, at, length)) {
                return;
            }
        } finally {
            InFlight.exit(slot);
        }
        rest().readPosted(low, offset, destination, at, length, begun, timeoutNs);
    }

    private void write(
            long offset, MemorySegment source, long at, long length, @Nullable Deadline begun, long timeoutNs) {
        if (base == 0) {
            write(false, offset, source, at, length, begun, timeoutNs);
        } else {
            writeAdmitted(false, offset, source, at, length, begun, timeoutNs);
        }
    }

    /** A write that may have to ask first. */
    void write(
            boolean low,
            long offset,
            MemorySegment source,
            long at,
            long length,
            @Nullable Deadline begun,
            long timeoutNs) {
        Admission admission = rest().owner().admission(low);
        if (admission == null) {
            writeAdmitted(low, offset, source, at, length, begun, timeoutNs);
            return;
        }
        boolean mapped = isMapped();
        Deadline deadline = takePermits(admission, mapped, WRITE, offset, length, begun, timeoutNs);
        long beginNs = admission.begin(mapped);
        try {
            writeAdmitted(low, offset, source, at, length, deadline, timeoutNs);
        } finally {
            admission.end(mapped, length, beginNs);
        }
    }

    /** A write that need not ask, or has asked. */
    void writeAdmitted(
            boolean low,
            long offset,
            MemorySegment source,
            long at,
            long length,
            @Nullable Deadline begun,
            long timeoutNs) {
        try {
            writeNow(low, offset, source, at, length, begun, timeoutNs);
        } catch (Moving paused) {
            Deadline deadline = rest().deadline(begun, timeoutNs);
            afterMove(deadline, () -> writeNow(low, offset, source, at, length, deadline, 0));
        }
    }

    private void writeNow(
            boolean low,
            long offset,
            MemorySegment source,
            long at,
            long length,
            @Nullable Deadline begun,
            long timeoutNs) {
        long slot = InFlight.enter(number(low));
        try {
            check(WRITE, offset, length);
            long start = base;
            if (start != 0) {
                MemorySegment.copy(source, at, ALL, start + offset, length);
                return;
            }
            if (rest().writeMapped(offset, source, at, length)) {
                return;
            }
        } finally {
            InFlight.exit(slot);
        }
        rest().writePosted(low, offset, source, at, length, begun, timeoutNs);
    }

    /**
     * Takes the permits of an operation. A refused operation takes none. Not inside an in-flight slot: it may wait.
     *
     * <p>An operation has one deadline for all of its waits. It begins with the first wait, since a short copy in mapped
     * memory takes less time than a look at the clock.
     *
     * @param begun the deadline if it has begun, as everywhere here
     * @param timeoutNs of a deadline that has not begun; 0 for the owner's
     * @return the deadline; null if it has still not begun
     */
    private @Nullable Deadline takePermits(
            Admission admission,
            boolean mapped,
            int needed,
            long offset,
            long length,
            @Nullable Deadline begun,
            long timeoutNs) {
        if (!admission.isLimited(mapped)) {
            return begun;
        }
        Deadline deadline = checkNow(needed, offset, length, begun, timeoutNs);
        if (admission.tryTake(mapped, length)) {
            return deadline;
        }
        Deadline started = rest().deadline(deadline, timeoutNs);
        admission.take(mapped, length, started);
        return started;
    }

    /**
     * Whether an operation on a word must {@link #admit ask} before it begins. Otherwise it need not ask, or it is a
     * read or a write, which asks itself.
     */
    boolean asksForWord(boolean low) {
        return (base == 0 || low) && isMapped();
    }

    /**
     * {@link #takePermits} of an operation on a word, or of one that other nodes carry out; not measured.
     *
     * @return as of {@link #takePermits}
     */
    @Nullable
    Deadline admit(boolean low, int needed, long offset, long length, @Nullable Deadline begun, long timeoutNs) {
        if (base != 0 && !low) {
            return begun;
        }
        Admission admission = rest().owner().admission(low);
        return admission == null ? begun : takePermits(admission, isMapped(), needed, offset, length, begun, timeoutNs);
    }

    private boolean isMapped() {
        return placed().isDirect();
    }

    /** Follows a change of {@link MappingOwner#isGated}. Operations that have begun do not ask any more. Any thread. */
    public void gate() {
        MappedLmr lmr = rest();
        synchronized (lmr) {
            base = lmr.owner().isGated() ? 0 : lmr.onlyAddress();
        }
    }

    @Override
    public TierHandle withPriority(Priority priority) {
        return Objects.requireNonNull(priority, "priority") == Priority.LOW ? new LowMapping(this) : this;
    }

    @Override
    public boolean mustWait() {
        return mustWait(false);
    }

    boolean mustWait(boolean low) {
        if (base != 0 && !low) {
            return false;
        }
        Admission admission = rest().owner().admission(low);
        return admission != null && admission.isLimited(isMapped());
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
     * {@link #fetchAdd(long, long)} with its own deadline. A word of mapped memory needs none, unless it moves.
     *
     * @param deadline null for the owner's deadline
     */
    public long fetchAdd(long offset, long delta, @Nullable Deadline deadline) {
        return fetchAdd(offset, delta, deadline, 0);
    }

    private long fetchAdd(long offset, long delta, @Nullable Deadline deadline, long timeoutNs) {
        return fetchAdd(false, offset, delta, deadline, timeoutNs);
    }

    long fetchAdd(boolean low, long offset, long delta, @Nullable Deadline deadline, long timeoutNs) {
        Deadline begun = admit(low, ATOMIC, offset, Long.BYTES, deadline, timeoutNs);
        try {
            return fetchAddNow(low, offset, delta, begun, timeoutNs);
        } catch (Moving paused) {
            Deadline left = rest().deadline(begun, timeoutNs);
            long[] before = new long[1];
            afterMove(left, () -> before[0] = fetchAddNow(low, offset, delta, left, 0));
            return before[0];
        }
    }

    private long fetchAddNow(boolean low, long offset, long delta, @Nullable Deadline begun, long timeoutNs) {
        long place;
        long slot = InFlight.enter(number(low));
        try {
            checkWord(offset);
            long start = base;
            place = start != 0 ? start + offset : rest().placed().place(offset);
            if (!Layout.isRemote(place)) {
                return RawMemory.getAndAddLong(place, delta);
            }
            rest().beginPosted();
        } finally {
            InFlight.exit(slot);
        }
        return rest().fetchAddPosted(low, place, delta, begun, timeoutNs);
    }

    @Override
    public long testSet(long offset, long expected, long value) {
        return testSet(offset, expected, value, 0);
    }

    @Override
    public long testSet(long offset, long expected, long value, long timeoutNs) {
        return testSet(offset, expected, value, null, timeoutNs);
    }

    /** {@link #testSet(long, long, long)} with its own deadline, as in {@link #fetchAdd(long, long, Deadline)}. */
    public long testSet(long offset, long expected, long value, @Nullable Deadline deadline) {
        return testSet(offset, expected, value, deadline, 0);
    }

    private long testSet(long offset, long expected, long value, @Nullable Deadline deadline, long timeoutNs) {
        return testSet(false, offset, expected, value, deadline, timeoutNs);
    }

    long testSet(boolean low, long offset, long expected, long value, @Nullable Deadline deadline, long timeoutNs) {
        Deadline begun = admit(low, ATOMIC, offset, Long.BYTES, deadline, timeoutNs);
        try {
            return testSetNow(low, offset, expected, value, begun, timeoutNs);
        } catch (Moving paused) {
            Deadline left = rest().deadline(begun, timeoutNs);
            long[] before = new long[1];
            afterMove(left, () -> before[0] = testSetNow(low, offset, expected, value, left, 0));
            return before[0];
        }
    }

    private long testSetNow(
            boolean low, long offset, long expected, long value, @Nullable Deadline begun, long timeoutNs) {
        long place;
        long slot = InFlight.enter(number(low));
        try {
            checkWord(offset);
            long start = base;
            place = start != 0 ? start + offset : rest().placed().place(offset);
            if (!Layout.isRemote(place)) {
                return RawMemory.compareAndExchangeLong(place, expected, value);
            }
            rest().beginPosted();
        } finally {
            InFlight.exit(slot);
        }
        return rest().testSetPosted(low, place, expected, value, begun, timeoutNs);
    }

    @Override
    public long getLong(long offset) {
        return WordOperations.getLong(this, false, offset);
    }

    @Override
    public void putLong(long offset, long value) {
        WordOperations.putLong(this, false, offset, value);
    }

    @Override
    public int getInt(long offset) {
        return WordOperations.getInt(this, false, offset);
    }

    @Override
    public void putInt(long offset, int value) {
        WordOperations.putInt(this, false, offset, value);
    }

    /**
     * Begins the access to a word. Must run between enter and exit.
     *
     * @param needed permission bits
     * @param bytes the size of the word; the offset is a multiple of it
     * @return the word's address, or 0 when the caller must continue without the in-flight slot, through the fabric
     */
    long wordAddress(int needed, long offset, int bytes) {
        check(needed, offset, bytes);
        long start = base;
        if (start != 0) {
            return start + offset;
        }
        long place = rest().placed().place(offset);
        return Layout.isRemote(place) ? 0 : place;
    }

    /**
     * Waits for the end of a move and then runs the operation that met it. Repeats if the operation meets another move.
     * This loop is a separate method so that the operations compile without a loop.
     */
    private void afterMove(Deadline deadline, Runnable operation) {
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

    /** Checks rights and bounds; the only check of an operation. Must run between enter and exit. */
    void check(int needed, long offset, long length) {
        if (((int) TAG.getAcquire(this) & needed) == 0 || (offset | length) < 0 || offset > size - length) {
            throw rest().refusal(needed, offset, length);
        }
    }

    private void checkWord(long offset) {
        check(ATOMIC, offset, Long.BYTES);
        if ((offset & (Long.BYTES - 1)) != 0) {
            throw new LmrBoundsException(
                    "%s: offset %d is not a multiple of 8; an atomic word needs that".formatted(this, offset));
        }
    }

    private void checkMaster(Deadline deadline) {
        try {
            check(Permission.MASTER.bit(), 0, 0);
        } catch (Moving paused) {
            afterMove(deadline, () -> check(Permission.MASTER.bit(), 0, 0));
        }
    }

    /**
     * Pins a range for a long operation: nobody moves, frees or revokes the LMR before {@link #endHold}. Do not call
     * this inside an in-flight slot.
     *
     * @param needed permission bits
     * @return false if the LMR is moving
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

    /**
     * Checks rights and bounds, after the end of a move.
     *
     * @return as of {@link #takePermits}
     */
    @Nullable
    Deadline checkNow(int needed, long offset, long length, @Nullable Deadline begun, long timeoutNs) {
        try {
            checkInFlight(needed, offset, length);
            return begun;
        } catch (Moving paused) {
            Deadline deadline = rest().deadline(begun, timeoutNs);
            afterMove(deadline, () -> checkInFlight(needed, offset, length));
            return deadline;
        }
    }

    private void checkInFlight(int needed, long offset, long length) {
        long slot = InFlight.enter(number());
        try {
            check(needed, offset, length);
        } finally {
            InFlight.exit(slot);
        }
    }

    /** {@link #tryHold}, but waits for the end of a move first. */
    void hold(int needed, long offset, long length, Deadline deadline) {
        while (!tryHold(needed, offset, length)) {
            rest().awaitResumed(deadline);
        }
    }

    /** Ends a hold. Any thread. */
    void endHold() {
        rest().endPosted();
    }

    /** Other nodes carry out what the hold is for. {@link #endHandedOver} ends it then. */
    void handOver() {
        rest().handOver();
    }

    /** Ends a hold after {@link #handOver}. Any thread. */
    void endHandedOver() {
        rest().endHandedOver();
    }

    void awaitResumed(Deadline deadline) {
        rest().awaitResumed(deadline);
    }

    /** The places of the LMR; stable during a hold. */
    MappedPlaces placed() {
        return rest().placed();
    }

    @Override
    public void memset(long offset, long length, byte value) {
        memset(offset, length, value, 0);
    }

    @Override
    public void memset(long offset, long length, byte value, long timeoutNs) {
        memset(false, offset, length, value, timeoutNs);
    }

    void memset(boolean low, long offset, long length, byte value, long timeoutNs) {
        Deadline begun = admit(low, WRITE, offset, length, null, timeoutNs);
        if (!BulkOperations.memsetNow(this, low, offset, length, value)) {
            BulkOperations.memset(this, offset, length, value, rest().deadline(begun, timeoutNs));
        }
    }

    @Override
    public void read(List<LmrSlice> slices) {
        SliceOperations.read(this, false, slices);
    }

    @Override
    public void write(List<LmrSlice> slices) {
        SliceOperations.write(this, false, slices);
    }

    @Override
    public CompletableFuture<@Nullable Void> readAsync(List<LmrSlice> slices) {
        return SliceOperations.readAsync(this, slices);
    }

    @Override
    public CompletableFuture<@Nullable Void> writeAsync(List<LmrSlice> slices) {
        return SliceOperations.writeAsync(this, slices);
    }

    @Override
    public boolean needsFabric() {
        return base == 0 && !isMapped();
    }

    @Override
    public boolean isHeldUp(long offset, long length) {
        return isHeldUp(false, offset, length);
    }

    boolean isHeldUp(boolean low, long offset, long length) {
        return rest().isHeldUp(low, offset, length);
    }

    @Override
    public boolean tryStart(Access access, long timeoutNs, boolean soon, Consumer<@Nullable RuntimeException> ended) {
        return tryStart(false, access, null, timeoutNs, soon, ended);
    }

    boolean tryStart(
            boolean low,
            Access access,
            @Nullable Deadline begun,
            long timeoutNs,
            boolean soon,
            Consumer<@Nullable RuntimeException> ended) {
        boolean atomic = access.operation().isAtomic();
        boolean misaligned = atomic && (access.offset() & (Long.BYTES - 1)) != 0;
        if (misaligned // the operation that waits refuses it
                || !needsFabric()
                || mustWait(low)
                || !tryHold(needed(access.operation()), access.offset(), access.length())) {
            return false;
        }
        boolean started = false;
        try {
            Consumer<@Nullable RuntimeException> then = atomic ? ended : counted(low, access.length(), ended);
            started = rest().tryPost(low, access, begun, timeoutNs, soon, then);
            return started;
        } finally {
            if (!started) {
                endHold();
            }
        }
    }

    private static int needed(Operation operation) {
        return switch (operation) {
            case READ -> READ;
            case WRITE -> WRITE;
            case FETCH_ADD, COMPARE_AND_SWAP -> ATOMIC;
        };
    }

    private Consumer<@Nullable RuntimeException> counted(
            boolean low, long length, Consumer<@Nullable RuntimeException> ended) {
        Admission admission = rest().owner().admission(low);
        if (admission == null) {
            return ended;
        }
        long begun = admission.begin(false);
        return failure -> {
            try {
                admission.end(false, length, begun);
            } finally { // also without memory to count it
                ended.accept(failure);
            }
        };
    }

    /** The deadline of an operation that begins now. */
    Deadline deadline() {
        return deadline(null);
    }

    /** The deadline of an operation that has begun, or begins now. */
    Deadline deadline(@Nullable Deadline begun) {
        return rest().deadline(begun, 0);
    }

    @Override
    public void grant(String principal, Set<Permission> permissions) {
        grant(principal, permissions, owner().deadline());
    }

    @Override
    public void grant(String principal, Set<Permission> permissions, Duration deadline) {
        Set<Permission> granted = LmrHandle.checkGrant(principal, permissions);
        Deadline until = Deadline.in(deadline);
        checkMaster(until);
        handleOwner().grant(this, principal, granted, until);
    }

    @Override
    public void moveTo(String node) {
        moveTo(node, owner().deadline());
    }

    @Override
    public void moveTo(String node, Duration deadline) {
        NodeInfo.checkName(node);
        Deadline until = Deadline.in(deadline);
        checkMaster(until);
        handleOwner().moveTo(this, node, until);
    }

    /** The number in {@link InFlight}. */
    int number() {
        return tag >>> RIGHTS_BITS;
    }

    /** The number for an operation of the session's priority, or of low priority, which is never counted. */
    int number(boolean low) {
        return low ? InFlight.uncounted(number()) : number();
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
        checkMaster(deadline());
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
                    deadline.expired("unmap of %s: an operation is still in flight".formatted(this)));
        }
        release();
    }

    @Override
    public void free() {
        free(owner().deadline());
    }

    @Override
    public void free(Duration deadline) {
        Deadline until = Deadline.in(deadline);
        checkMaster(until);
        handleOwner().free(this, until);
    }

    /** Records the outcome of an addition before {@link #awaitOperations} can return. */
    public interface Drawer {
        /** Called just before the addition; an exception prevents the addition. Must not block. */
        void beforeDraw();

        /** Called just after the addition. Must not block. */
        void drawn(long before);
    }

    /** The word is not in mapped memory now: it is moving, or it moved to memory that is not mapped here. */
    public static final class NotMappedException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        NotMappedException() {
            super("the word is not mapped", null, false, false);
        }
    }

    /**
     * {@link #fetchAdd(long, long)} of a word of {@linkplain #isOneMappedExtent mapped} memory. The drawer runs within
     * the same operation, so a thread that {@linkplain #awaitOperations waits} for the operation sees its outcome
     * recorded.
     *
     * @throws NotMappedException if the word is not mapped; the word is unchanged then
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
            long start = base;
            if (start == 0) {
                throw new NotMappedException();
            }
            drawer.beforeDraw();
            long before = RawMemory.getAndAddLong(start + offset, delta);
            drawer.drawn(before);
            return before;
        } finally {
            InFlight.exit(slot);
        }
    }

    /**
     * A volatile read of a word of {@linkplain #isOneMappedExtent mapped} memory.
     *
     * @throws NotMappedException if the word is not mapped
     */
    public long readWord(long offset) {
        long slot = InFlight.enter(number());
        try {
            checkWord(offset);
            long start = base;
            if (start == 0) {
                throw new NotMappedException();
            }
            return RawMemory.getLongVolatile(start + offset);
        } catch (Moving paused) {
            throw new NotMappedException();
        } finally {
            InFlight.exit(slot);
        }
    }

    /**
     * The address of byte 0 if the whole LMR is one extent in memory mapped here, else 0. The memory may be unmapped at any
     * time. So it must not be read or written outside an operation; to sleep on it as a futex is safe.
     */
    public long address() {
        return base;
    }

    /** Whether a part of the LMR is mapped within a range of addresses. */
    public boolean isMappedIn(AddressRange range) {
        return placed().isIn(range);
    }

    /** The places for {@link #resume}, which reach the parts that are mapped within a range of addresses through a fabric. */
    public long[] placesOutside(AddressRange range) {
        return placed().outside(range);
    }

    /** Waits for every operation on mapped memory that began before this call. The handle stays valid. */
    public void awaitOperations() {
        long mine = number();
        // If a thread starts its next operation at once, this may wait for that one too. In the end it sees a gap.
        InFlight.awaitEnd(number -> InFlight.isOf(mine, number));
    }

    /** Whether the whole LMR is one extent in memory mapped here, so that no operation waits for a fabric. */
    public boolean isOneMappedExtent() {
        return base != 0;
    }

    /** The record of the LMR at the time of the mapping, or after its last move. */
    public LmrRecord lmr() {
        return rest().lmr();
    }

    /** The owner of this mapping. */
    public MappingOwner owner() {
        return rest().owner();
    }

    /**
     * The owner of this handle.
     *
     * @throws LmrPermissionException if the node itself owns the mapping, for a lock or barrier
     */
    HandleOwner handleOwner() {
        if (owner() instanceof HandleOwner handleOwner) {
            return handleOwner;
        }
        throw new LmrPermissionException("%s belongs to the node: it allows only atomic operations".formatted(this));
    }

    /**
     * Takes the rights away: after the return no operation begins. The caller then {@linkplain #awaitEnd waits} for the
     * operations in flight.
     *
     * @param why the reason that later callers get
     * @return false if the handle had ended before
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
     * Takes the rights away for a while: new operations wait for {@link #resume}. The caller then
     * {@linkplain #awaitEnd waits} for the operations in flight.
     */
    public void pause() {
        boolean unused = tryPause();
    }

    /** {@link #pause}; false if the handle is paused already or has ended. */
    public boolean tryPause() {
        MappedLmr lmr = rest();
        synchronized (lmr) {
            boolean paused = lmr.pause();
            if (paused) {
                TAG.setVolatile(this, tag & ~RIGHTS_MASK);
            }
            return paused;
        }
    }

    /**
     * Ends a pause.
     *
     * @param record the current record of the LMR. If its place changed or its permissions shrank, the caller must have
     *     waited for the operations in flight.
     * @param places of the record
     * @param allowed permission bits; the handle keeps those that it had already
     */
    public void resume(LmrRecord record, long[] places, int allowed) {
        MappedLmr lmr = rest();
        synchronized (lmr) {
            if (lmr.hasEnded()) {
                return;
            }
            int rights = lmr.granted() & allowed;
            lmr.place(new MappedPlaces(record, places), rights);
            base = owner().isGated() ? 0 : lmr.onlyAddress();
            TAG.setVolatile(this, (tag & ~RIGHTS_MASK) | rights); // after the base
            lmr.stopPause();
        }
    }

    /** Whether the handle is paused. */
    public boolean isPaused() {
        return rest().isPaused();
    }

    /** The permission bits of the handle. */
    public int granted() {
        return rest().granted();
    }

    /**
     * Waits for the operations that were in flight when these mappings lost their rights.
     *
     * @return false if one of them is still in flight at the deadline
     */
    public static boolean awaitEnd(Collection<Mapping> mappings, Deadline deadline) {
        return awaitEnd(mappings, true, deadline);
    }

    /**
     * {@link #awaitEnd}, but not for what other nodes carry out for this node: for a lost registration. Those nodes end
     * it before they acknowledge that this process was removed, and only then is anything of it given to others. And
     * without a connection this node cannot hear of the end.
     */
    public static boolean awaitEndHere(Collection<Mapping> mappings, Deadline deadline) {
        return awaitEnd(mappings, false, deadline);
    }

    private static boolean awaitEnd(Collection<Mapping> mappings, boolean elsewhere, Deadline deadline) {
        if (mappings.size() == 1) {
            long only = mappings.iterator().next().number();
            InFlight.awaitEnd(number -> InFlight.isOf(only, number));
        } else {
            Set<Integer> numbers = new HashSet<>();
            mappings.forEach(mapping -> numbers.add(mapping.number(true)));
            InFlight.awaitEnd(number -> numbers.contains(InFlight.uncounted((int) number)));
        }
        boolean ended = true;
        for (Mapping mapping : mappings) {
            ended &= mapping.rest().awaitPosted(elsewhere, deadline);
        }
        return ended;
    }

    /** Removes an ended handle from its owner once no operation uses it. A second call does nothing. */
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

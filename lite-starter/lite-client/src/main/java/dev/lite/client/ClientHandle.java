package dev.lite.client;

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
import dev.lite.api.SessionLostException;
import dev.lite.os.Segments;
import dev.lite.os.waiting.Counts;
import dev.lite.os.waiting.Durations;
import dev.lite.session.async.AsyncOperations;
import dev.lite.session.protocol.SessionMessage.Describe;
import dev.lite.session.protocol.SessionMessage.Done;
import dev.lite.session.protocol.SessionMessage.Extents;
import dev.lite.session.protocol.SessionMessage.ExtentsPage;
import dev.lite.session.protocol.SessionMessage.Grant;
import dev.lite.session.protocol.SessionMessage.Mapped;
import dev.lite.session.protocol.SessionMessage.Memset;
import dev.lite.session.protocol.SessionMessage.MoveTo;
import dev.lite.session.protocol.SessionMessage.Request;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.session.protocol.SessionProtocol.Op;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * A handle of a session. It checks bounds and permissions to save a round trip, with the same messages as the node; the node checks
 * everything again. Any thread.
 */
final class ClientHandle implements LmrHandle {
    private static final int MAPPED = 0;
    private static final int UNMAPPED = 1;
    private static final int FREED = 2;
    /** Unusable like {@link #UNMAPPED}, but perhaps still mapped at the node: another unmap tries again. */
    private static final int UNMAP_FAILED = 3;

    private final Session session;
    private final DataPath data;
    private final Transfer transfer;
    private final long lh;
    private final long id;
    private final long size;
    private final int permissionBits;
    private final @Nullable String name;
    private final AtomicInteger state;
    private final Priority priority;
    private final @Nullable ClientHandle other; // the same handle with the other priority, or null

    ClientHandle(Session session, Mapped mapped) {
        this.session = session;
        data = session.data();
        lh = mapped.lh();
        id = mapped.lmrId();
        size = mapped.size();
        permissionBits = Permission.toBits(mapped.permissions());
        name = mapped.name();
        state = new AtomicInteger(MAPPED);
        priority = Priority.HIGH;
        other = null;
        session.use().mapped();
        transfer = new Transfer(this, data, lh, session.config().pipelineDepth(), session.nodeTimeoutNs());
    }

    /** A view of low priority. It shares the state: the end of one is the end of both. */
    private ClientHandle(ClientHandle high) {
        session = high.session;
        data = high.data;
        lh = high.lh;
        id = high.id;
        size = high.size;
        permissionBits = high.permissionBits;
        name = high.name;
        state = high.state;
        priority = Priority.LOW;
        other = high;
        transfer = new Transfer(
                this,
                data,
                lh | SessionProtocol.LOW_PRIORITY,
                session.config().pipelineDepth(),
                session.nodeTimeoutNs());
    }

    @Override
    public LmrHandle withPriority(Priority wanted) {
        if (Objects.requireNonNull(wanted, "priority") == priority) {
            return this;
        }
        ClientHandle high = other;
        return high != null ? high : new ClientHandle(this);
    }

    @Override
    public long id() {
        return id;
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
        if (state.get() == MAPPED && session.isOpen()) {
            try {
                String what = "permissions of " + describe();
                return session.requests()
                        .ask(what, Mapped.class, session.deadlineNs(), request -> new Describe(request, lh), null)
                        .permissions();
            } catch (LmrFreedException | SessionLostException gone) {
                // The next use of the handle reports it.
            }
        }
        return mappedFor();
    }

    private Set<Permission> mappedFor() {
        return Permission.fromBits(permissionBits);
    }

    @Override
    public void read(long offset, MemorySegment destination) {
        Segments.requireWritable("destination", destination);
        long length = destination.byteSize();
        check(Op.READ, Permission.READ, offset, length);
        readUntil(offset, destination, length, deadline());
    }

    private void readUntil(long offset, MemorySegment destination, long length, long deadlineNs) {
        if (length <= data.windowBytes()) {
            transfer.readOne(offset, destination, length, deadlineNs);
        } else {
            transfer.readMany(offset, destination, length, deadlineNs);
        }
    }

    @Override
    public void write(long offset, MemorySegment source) {
        Segments.requireReadable("source", source);
        long length = source.byteSize();
        check(Op.WRITE, Permission.WRITE, offset, length);
        writeUntil(offset, source, length, deadline());
    }

    private void writeUntil(long offset, MemorySegment source, long length, long deadlineNs) {
        if (length <= data.windowBytes()) {
            transfer.writeOne(offset, source, length, deadlineNs);
        } else {
            transfer.writeMany(offset, source, length, deadlineNs);
        }
    }

    @Override
    public void read(List<LmrSlice> slices) {
        readAll(checked(Op.READ, Permission.READ, slices));
    }

    @Override
    public void write(List<LmrSlice> slices) {
        writeAll(checked(Op.WRITE, Permission.WRITE, slices));
    }

    /** One deadline for all slices. */
    private void readAll(List<LmrSlice> checked) {
        long deadlineNs = deadline();
        for (LmrSlice slice : checked) {
            readUntil(slice.offset(), slice.segment(), slice.segment().byteSize(), deadlineNs);
        }
    }

    /** One deadline for all slices. */
    private void writeAll(List<LmrSlice> checked) {
        long deadlineNs = deadline();
        for (LmrSlice slice : checked) {
            writeUntil(slice.offset(), slice.segment(), slice.segment().byteSize(), deadlineNs);
        }
    }

    @Override
    public CompletableFuture<@Nullable Void> readAsync(List<LmrSlice> slices) {
        List<LmrSlice> mine = checked(Op.READ, Permission.READ, slices);
        return begin(Op.READ, mine, () -> readAll(mine));
    }

    @Override
    public CompletableFuture<@Nullable Void> writeAsync(List<LmrSlice> slices) {
        List<LmrSlice> mine = checked(Op.WRITE, Permission.WRITE, slices);
        return begin(Op.WRITE, mine, () -> writeAll(mine));
    }

    /** @param transfer the same operation, blocking: for several slices or windows, or if no slot is free */
    private CompletableFuture<@Nullable Void> begin(int op, List<LmrSlice> checked, Runnable transfer) {
        AsyncOperations async = session.async();
        AsyncOperations.Operation opened = async.open(session.deadline());
        if (checked.size() != 1 || !tryBegin(op, checked.getFirst(), async, opened)) {
            async.run(opened, transfer);
        }
        return opened.future();
    }

    private boolean tryBegin(int op, LmrSlice slice, AsyncOperations async, AsyncOperations.Operation opened) {
        try {
            return transfer.tryStart(
                    op,
                    slice.offset(),
                    slice.segment(),
                    deadline(),
                    (failure, helping) -> async.end(opened, failure, helping));
        } catch (RuntimeException | Error e) { // an Error: the segment is a file that was truncated
            async.end(opened, e, false);
            return true;
        }
    }

    /** Checks all slices; returns a copy, so that the caller cannot change the list afterwards. */
    private List<LmrSlice> checked(int op, Permission needed, List<LmrSlice> slices) {
        List<LmrSlice> copy = LmrHandle.checkSlices(slices);
        requireUsable();
        for (LmrSlice slice : copy) {
            if (needed == Permission.READ) {
                Segments.requireWritable("segment of a slice", slice.segment());
            } else {
                Segments.requireReadable("segment of a slice", slice.segment());
            }
            check(op, needed, slice.offset(), slice.segment().byteSize());
        }
        return copy;
    }

    /** A short one uses the data path; a long one would block other commands there, so it uses the control channel. */
    @Override
    public void memset(long offset, long length, byte value) {
        check(Op.MEMSET, Permission.WRITE, offset, length);
        if (length <= data.windowBytes()) {
            transfer.memset(offset, length, value, deadline());
        } else {
            requireUsable();
            session.counts().requests().memset(length);
            request(
                    "memset of " + describe(),
                    request -> new Memset(request, session.nodeTimeoutNs(), lhOfPriority(), offset, length, value));
        }
    }

    @Override
    public void grant(String principal, Set<Permission> permissions) {
        Set<Permission> granted = LmrHandle.checkGrant(principal, permissions);
        request(
                "grant of " + describe(),
                request -> new Grant(request, session.nodeTimeoutNs(), lh, principal, granted));
    }

    @Override
    public void moveTo(String node) {
        NodeInfo.checkName(node);
        request("move of " + describe(), request -> new MoveTo(request, session.nodeTimeoutNs(), lh, node));
    }

    private void request(String what, LongFunction<Request> make) {
        requireUsable();
        session.requests().ask(what, Done.class, session.deadlineNs(), make, null);
    }

    /** The handle's number for an operation that has a priority. */
    private long lhOfPriority() {
        return priority == Priority.LOW ? lh | SessionProtocol.LOW_PRIORITY : lh;
    }

    /** The handle's number for an operation of this session, with its priority; checks that it belongs to it. */
    long lh(Session asking) {
        if (session != asking) {
            throw new IllegalArgumentException("%s belongs to another session".formatted(this));
        }
        requireUsable();
        return lhOfPriority();
    }

    @Override
    public long fetchAdd(long offset, long delta) {
        checkWord(Op.FETCH_ADD, offset);
        return transfer.atomic(Op.FETCH_ADD, offset, delta, 0, deadline());
    }

    @Override
    public long testSet(long offset, long expected, long value) {
        checkWord(Op.TEST_SET, offset);
        return transfer.atomic(Op.TEST_SET, offset, expected, value, deadline());
    }

    @Override
    public long getLong(long offset) {
        requireAligned("getLong", offset, Long.BYTES);
        check(Op.READ, Permission.READ, offset, Long.BYTES);
        return transfer.readWord(offset, Long.BYTES, deadline());
    }

    @Override
    public void putLong(long offset, long value) {
        requireAligned("putLong", offset, Long.BYTES);
        check(Op.WRITE, Permission.WRITE, offset, Long.BYTES);
        transfer.writeWord(offset, Long.BYTES, value, deadline());
    }

    @Override
    public int getInt(long offset) {
        requireAligned("getInt", offset, Integer.BYTES);
        check(Op.READ, Permission.READ, offset, Integer.BYTES);
        return (int) transfer.readWord(offset, Integer.BYTES, deadline());
    }

    @Override
    public void putInt(long offset, int value) {
        requireAligned("putInt", offset, Integer.BYTES);
        check(Op.WRITE, Permission.WRITE, offset, Integer.BYTES);
        transfer.writeWord(offset, Integer.BYTES, value, deadline());
    }

    private void requireAligned(String what, long offset, int bytes) {
        if ((offset & (bytes - 1)) != 0) {
            throw LmrBoundsException.notAligned(what, this, offset, bytes);
        }
    }

    @Override
    public List<Extent> extents() {
        List<Extent> extents = new ArrayList<>();
        ExtentsPage page;
        do {
            requireUsable();
            int from = extents.size();
            page = session.requests()
                    .ask(
                            "extents of " + describe(),
                            ExtentsPage.class,
                            session.deadlineNs(),
                            request -> new Extents(request, lh, from),
                            null);
            extents.addAll(page.extents());
        } while (extents.size() < page.total() && !page.extents().isEmpty());
        return List.copyOf(extents);
    }

    @Override
    public void unmap() {
        if (state.compareAndSet(MAPPED, UNMAPPED)) {
            session.use().unmapped();
        } else if (!state.compareAndSet(UNMAP_FAILED, UNMAPPED)) {
            return;
        }
        boolean done = false;
        try {
            unmapAtNode();
            done = true;
        } finally {
            if (!done) {
                state.set(UNMAP_FAILED);
            }
        }
    }

    private void unmapAtNode() {
        if (!session.isOpen()) {
            return;
        }
        String what = "unmap of " + describe();
        if (!data.slots().awaitNoneFor(lh, deadline())) {
            throw new LiteTimeoutException("%s: operations of other threads are still under way after %s"
                    .formatted(what, Durations.text(session.deadline())));
        }
        try {
            session.requests().ask(what, Done.class, session.deadlineNs(), request -> session.unmap(request, lh), null);
        } catch (LmrFreedException | SessionLostException already) {
            // The handle no longer exists, as requested.
        }
    }

    @Override
    public void free() {
        requireUsable();
        session.requests()
                .ask(
                        "free of " + describe(),
                        Done.class,
                        session.deadlineNs(),
                        request -> session.free(request, lh),
                        null);
        freed();
    }

    /** The LMR was freed, or will be. */
    void freed() {
        if (state.compareAndSet(MAPPED, FREED)) {
            session.use().unmapped();
        }
    }

    /** Throws unless the handle is mapped and the session open. The owner of a slot calls it after {@link SlotPool#workFor}. */
    void requireUsable() {
        int now = state.get();
        if (now == UNMAPPED || now == UNMAP_FAILED) {
            throw new LmrFreedException("%s: this handle was unmapped".formatted(describe()));
        }
        if (now == FREED) {
            throw new LmrFreedException("%s was freed through this handle".formatted(describe()));
        }
        if (!session.isOpen()) {
            throw session.lost();
        }
    }

    LiteException timedOut(int op, long offset, long length) {
        return new LiteTimeoutException("%s of %s at offset %d of %s: node %s did not answer within the deadline of %s"
                .formatted(
                        Op.nameOf(op),
                        bytes(length),
                        offset,
                        describe(),
                        session.nodeName(),
                        Durations.text(session.deadlineNs())));
    }

    LiteException noSlot(int op, long offset, long length) {
        return new LiteTimeoutException(
                "%s of %s at offset %d of %s: all slots of the session with node %s were in use for the deadline of %s (lite.node.session.slots)"
                        .formatted(
                                Op.nameOf(op),
                                bytes(length),
                                offset,
                                describe(),
                                session.nodeName(),
                                Durations.text(session.deadlineNs())));
    }

    SessionLostException lost() {
        return session.lost();
    }

    private long deadline() {
        return System.nanoTime() + session.deadlineNs();
    }

    private void checkWord(int op, long offset) {
        check(op, Permission.ATOMIC, offset, Long.BYTES);
        if ((offset & (Long.BYTES - 1)) != 0) {
            throw new LmrBoundsException("%s at offset %d of %s: the offset must be a multiple of %d"
                    .formatted(Op.nameOf(op), offset, describe(), Long.BYTES));
        }
    }

    private void check(int op, Permission needed, long offset, long length) {
        if ((offset | length) < 0 || offset > size - length) {
            throw new LmrBoundsException("%s of %s at offset %d of %s: it has %s"
                    .formatted(Op.nameOf(op), bytes(length), offset, describe(), bytes(size)));
        }
        if ((permissionBits & needed.bit()) == 0) {
            throw new LmrPermissionException("%s of %s needs %s; the handle was mapped for %s"
                    .formatted(Op.nameOf(op), describe(), needed, mappedFor()));
        }
    }

    private static String bytes(long count) {
        return Counts.text(count, "byte", "bytes");
    }

    private String describe() {
        return name == null ? "LMR #%d".formatted(id) : "LMR \"%s\"".formatted(name);
    }

    @Override
    public String toString() {
        return "LmrHandle[%s, %d bytes, node %s]".formatted(describe(), size, session.nodeName());
    }
}

package dev.lite.client.reattach;

import dev.lite.api.Extent;
import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSlice;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.Priority;
import dev.lite.api.SessionLostException;
import dev.lite.client.reattach.PerSession.Bound;
import dev.lite.os.waiting.Deadline;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A handle that outlives its session. The first operation after a loss maps the LMR again, by name or by id, and continues.
 * Operations wait for that up to the session's deadline.
 *
 * <p>An operation that met the end of the session is repeated if that does no harm: reads, writes, memset, and a master's operations.
 * {@code fetchAdd}, {@code testSet} and asynchronous operations are not repeated: they throw {@link SessionLostException} and may
 * have taken effect or not. An operation that starts after the loss waits for the next session, whatever its kind. While the
 * application has not closed a lock of a lost session, all of them throw {@link SessionLostException}; see {@link
 * SessionKeeper#requireNoLostLocks}.
 *
 * <p>Any thread. While the session is open, an operation costs one volatile read more.
 */
final class ReattachingHandle implements LmrHandle {
    private final SessionKeeper keeper;
    private final long id;
    private final @Nullable String name;
    private final long size;
    private final ReentrantLock mapping = new ReentrantLock();

    /** The handle of one session; written under {@link #mapping}. */
    private volatile Bound<LmrHandle> mapped;

    private volatile boolean unmapped;

    /** The handle of which this one is a view of low priority, or null. */
    private final @Nullable ReattachingHandle viewed;

    ReattachingHandle(SessionKeeper keeper, Bound<LmrHandle> first) {
        viewed = null;
        this.keeper = keeper;
        LmrHandle handle = first.value();
        id = handle.id();
        name = handle.name().orElse(null);
        size = handle.size();
        mapped = first;
    }

    private ReattachingHandle(ReattachingHandle viewed) {
        this.viewed = viewed;
        keeper = viewed.keeper;
        id = viewed.id;
        name = viewed.name;
        size = viewed.size;
        mapped = low(viewed.mapped);
    }

    boolean isOf(SessionKeeper other) {
        return keeper == other;
    }

    private static Bound<LmrHandle> low(Bound<LmrHandle> handle) {
        return new Bound<>(handle.session(), handle.value().withPriority(Priority.LOW));
    }

    @Override
    public LmrHandle withPriority(Priority priority) {
        boolean low = Objects.requireNonNull(priority, "priority") == Priority.LOW;
        if (viewed != null) {
            return low ? this : viewed;
        }
        return low ? new ReattachingHandle(this) : this;
    }

    /** The handle of an open session; maps the LMR again if the session was lost. */
    Bound<LmrHandle> current(Deadline deadline) {
        Bound<LmrHandle> current = mapped;
        if (current.session().isOpen()) {
            return current;
        }
        if (viewed != null) { // also if that session has ended since: a view maps nothing itself
            Bound<LmrHandle> next = low(viewed.current(deadline));
            mapped = next; // two threads at a time make two equal views
            return next;
        }
        keeper.requireNoLostLocks(current.session());
        return keeper.waiting(() -> mapAgain(current, deadline));
    }

    private Bound<LmrHandle> mapAgain(Bound<LmrHandle> lost, Deadline deadline) {
        SessionKeeper.lock(mapping, deadline, () -> "mapping %s again by another thread".formatted(describe()));
        try {
            Bound<LmrHandle> current = mapped;
            if (current.session() != lost.session()) {
                return current;
            }
            requireNotUnmapped();
            Lite session = keeper.openCounted(deadline);
            keeper.requireNoLostLocks(
                    lost.session()); // again: this may be a later session than that of the caller's lock
            LmrHandle handle = mapAt(session, lost.value().permissions(), deadline);
            if (handle.id() != id) {
                handle.unmap();
                throw new LmrFreedException(
                        "%s was freed while the session was lost; its name belongs to the LMR %d now"
                                .formatted(describe(), handle.id()));
            }
            Bound<LmrHandle> next = new Bound<>(session, handle);
            mapped = next;
            if (unmapped) { // meanwhile, and perhaps at the lost session only
                handle.unmap();
                requireNotUnmapped();
            }
            return next;
        } finally {
            mapping.unlock();
        }
    }

    private void requireNotUnmapped() {
        if (unmapped) {
            throw new LmrFreedException("%s: this handle was unmapped".formatted(describe()));
        }
    }

    /** @param permissions those of the former mapping, which that tells without its node since its session has ended */
    private LmrHandle mapAt(Lite session, Set<Permission> permissions, Deadline deadline) {
        if (deadline.passed()) {
            throw new LiteTimeoutException(deadline.expired("mapping %s again".formatted(describe())));
        }
        Duration remaining = SessionKeeper.remaining(deadline);
        try {
            return name == null
                    ? session.memory().map(id, permissions, remaining)
                    : session.memory().map(name, permissions, remaining);
        } catch (LmrNotFoundException e) {
            throw new LmrFreedException("%s no longer exists; the session was lost".formatted(describe()), e);
        }
    }

    private String describe() {
        return name == null ? "LMR #" + id : "LMR \"%s\"".formatted(name);
    }

    /** Runs the operation at the current session, and repeats it at the next one after a loss. */
    private <T> T repeatable(Function<LmrHandle, T> operation) {
        Deadline deadline = keeper.deadline();
        while (true) {
            Bound<LmrHandle> current = mapped;
            try {
                current = current(deadline);
                return operation.apply(current.value());
            } catch (SessionLostException lost) {
                keeper.requireNoLostLocks(current.session());
                keeper.pauseBeforeRetry(lost, deadline);
            }
        }
    }

    private void repeat(Consumer<LmrHandle> operation) {
        Boolean unused = repeatable(handle -> {
            operation.accept(handle);
            return true;
        });
    }

    /**
     * Repeats an operation that changes memory, at the same node only. Another node could execute later changes before the lost node
     * executes this one: a node that is lost to its application may still have it under way.
     */
    private void repeatHere(SessionLostException first, Lite lost, Consumer<LmrHandle> operation) {
        SessionLostException failure = first;
        Deadline deadline = keeper.deadline();
        while (true) {
            keeper.pauseBeforeRetry(failure, deadline);
            Bound<LmrHandle> current = mapped;
            try {
                current = current(deadline);
                if (current.session().nodeName().equals(lost.nodeName())) {
                    operation.accept(current.value());
                    return;
                }
            } catch (SessionLostException again) {
                keeper.requireNoLostLocks(current.session());
                failure = again;
                continue;
            }
            throw first;
        }
    }

    /** For operations that must not be repeated. */
    private LmrHandle current() {
        return bound().value();
    }

    /** {@link #current(Deadline)} within the session's deadline, which takes an object only when the session was lost. */
    private Bound<LmrHandle> bound() {
        Bound<LmrHandle> current = mapped;
        return current.session().isOpen() ? current : current(keeper.deadline());
    }

    /** For operations that change memory, and are repeated only at the same node. */
    private Bound<LmrHandle> boundForChange() {
        return keeper.mayMove() ? bound() : mapped;
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
        return mapped.value().permissions();
    }

    @Override
    public void read(long offset, MemorySegment destination) {
        Bound<LmrHandle> current = mapped;
        try {
            current.value().read(offset, destination);
        } catch (SessionLostException lost) {
            keeper.requireNoLostLocks(current.session());
            repeat(handle -> handle.read(offset, destination));
        }
    }

    @Override
    public void write(long offset, MemorySegment source) {
        Bound<LmrHandle> current = boundForChange();
        try {
            current.value().write(offset, source);
        } catch (SessionLostException lost) {
            keeper.requireNoLostLocks(current.session());
            repeatHere(lost, current.session(), handle -> handle.write(offset, source));
        }
    }

    @Override
    public void read(List<LmrSlice> slices) {
        Bound<LmrHandle> current = mapped;
        try {
            current.value().read(slices);
        } catch (SessionLostException lost) {
            keeper.requireNoLostLocks(current.session());
            repeat(handle -> handle.read(slices));
        }
    }

    @Override
    public void write(List<LmrSlice> slices) {
        Bound<LmrHandle> current = boundForChange();
        try {
            current.value().write(slices);
        } catch (SessionLostException lost) {
            keeper.requireNoLostLocks(current.session());
            repeatHere(lost, current.session(), handle -> handle.write(slices));
        }
    }

    @Override
    public CompletableFuture<@Nullable Void> readAsync(List<LmrSlice> slices) {
        return current().readAsync(slices);
    }

    @Override
    public CompletableFuture<@Nullable Void> writeAsync(List<LmrSlice> slices) {
        return current().writeAsync(slices);
    }

    @Override
    public void memset(long offset, long length, byte value) {
        Bound<LmrHandle> current = boundForChange();
        try {
            current.value().memset(offset, length, value);
        } catch (SessionLostException lost) {
            keeper.requireNoLostLocks(current.session());
            repeatHere(lost, current.session(), handle -> handle.memset(offset, length, value));
        }
    }

    @Override
    public long fetchAdd(long offset, long delta) {
        return current().fetchAdd(offset, delta);
    }

    @Override
    public long testSet(long offset, long expected, long value) {
        return current().testSet(offset, expected, value);
    }

    @Override
    public long getLong(long offset) {
        Bound<LmrHandle> current = mapped;
        try {
            return current.value().getLong(offset);
        } catch (SessionLostException lost) {
            keeper.requireNoLostLocks(current.session());
            return repeatable(handle -> handle.getLong(offset));
        }
    }

    @Override
    public void putLong(long offset, long value) {
        Bound<LmrHandle> current = boundForChange();
        try {
            current.value().putLong(offset, value);
        } catch (SessionLostException lost) {
            keeper.requireNoLostLocks(current.session());
            repeatHere(lost, current.session(), handle -> handle.putLong(offset, value));
        }
    }

    @Override
    public int getInt(long offset) {
        Bound<LmrHandle> current = mapped;
        try {
            return current.value().getInt(offset);
        } catch (SessionLostException lost) {
            keeper.requireNoLostLocks(current.session());
            return repeatable(handle -> handle.getInt(offset));
        }
    }

    @Override
    public void putInt(long offset, int value) {
        Bound<LmrHandle> current = boundForChange();
        try {
            current.value().putInt(offset, value);
        } catch (SessionLostException lost) {
            keeper.requireNoLostLocks(current.session());
            repeatHere(lost, current.session(), handle -> handle.putInt(offset, value));
        }
    }

    @Override
    public List<Extent> extents() {
        return repeatable(LmrHandle::extents);
    }

    @Override
    public void grant(String principal, Set<Permission> permissions) {
        Set<Permission> granted = LmrHandle.checkGrant(principal, permissions); // also while the node is away
        repeat(handle -> handle.grant(principal, granted));
    }

    @Override
    public void moveTo(String node) {
        NodeInfo.checkName(node);
        repeat(handle -> handle.moveTo(node));
    }

    @Override
    public void unmap() {
        if (viewed != null) {
            viewed.unmap();
            return;
        }
        unmapped = true;
        try {
            mapped.value().unmap();
        } catch (SessionLostException e) {
            // The end of the session unmapped it.
        }
    }

    @Override
    public void free() {
        if (viewed != null) {
            viewed.free();
            return;
        }
        try {
            current().free();
        } catch (SessionLostException lost) {
            try {
                repeat(LmrHandle::free);
            } catch (LmrFreedException e) {
                // The first attempt freed it.
            }
        }
    }

    @Override
    public String toString() {
        return describe();
    }
}

package dev.lite.client.reattach;

import dev.lite.api.Extent;
import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSlice;
import dev.lite.api.Permission;
import dev.lite.api.SessionLostException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A handle that outlives its session: when the node went away and came back, the first operation maps the LMR again, by its
 * name or its number, and goes on. Operations wait for that up to the session's deadline.
 *
 * <p>An operation that met the end of the session is carried out again if that does no harm: reads, writes, memset, and what a
 * master does. {@code fetchAdd} and {@code testSet} are not, and neither is what was begun asynchronously: they throw
 * {@link SessionLostException}, and whether they took place is not known. One that begins when the session is known to be
 * lost waits like the others. While a lock that the lost session held is not closed, nothing is carried out again and nothing waits:
 * all throw {@link SessionLostException}, since somebody else may have the lock.
 *
 * <p>Any thread. The fast path costs one volatile read.
 */
final class ReattachingHandle implements LmrHandle {
    private final SessionKeeper keeper;
    private final long id;
    private final @Nullable String name;
    private final long size;
    private final Set<Permission> wanted;
    private final ReentrantLock mapping = new ReentrantLock();
    private volatile Mapped mapped;
    private volatile boolean unmapped;

    /** The handle of one session. */
    record Mapped(Lite session, LmrHandle handle) {}

    ReattachingHandle(SessionKeeper keeper, Mapped first) {
        this.keeper = keeper;
        LmrHandle handle = first.handle();
        id = handle.id();
        name = handle.name().orElse(null);
        size = handle.size();
        wanted = handle.permissions();
        mapped = first;
    }

    /** The handle of a session that was open just now. */
    Mapped now(long deadlineNs) {
        Mapped now = mapped;
        if (now.session().isOpen()) {
            return now;
        }
        keeper.requireUnlocked(now.session());
        return again(now, deadlineNs);
    }

    private Mapped again(Mapped lost, long deadlineNs) {
        keeper.lockUntil(mapping, deadlineNs, this::describe);
        try {
            Mapped now = mapped;
            if (now.session() != lost.session()) {
                return now;
            }
            if (unmapped) {
                throw new LmrFreedException("%s: this handle was unmapped".formatted(describe()));
            }
            Lite session = keeper.open(deadlineNs);
            LmrHandle handle = mapAt(session, deadlineNs);
            if (handle.id() != id) {
                handle.unmap();
                throw new LmrFreedException(
                        "%s was freed while the session was lost; its name belongs to the LMR %d now"
                                .formatted(describe(), handle.id()));
            }
            Mapped made = new Mapped(session, handle);
            mapped = made;
            return made;
        } finally {
            mapping.unlock();
        }
    }

    private LmrHandle mapAt(Lite session, long deadlineNs) {
        long leftNs = deadlineNs - System.nanoTime();
        if (leftNs <= 0) {
            throw new LiteTimeoutException(
                    "mapping %s again took longer than the deadline of %s".formatted(describe(), keeper.deadline()));
        }
        Duration left = Duration.ofNanos(leftNs);
        try {
            return name == null
                    ? session.memory().map(id, wanted, left)
                    : session.memory().map(name, wanted, left);
        } catch (LmrNotFoundException e) {
            throw new LmrFreedException("%s is gone since the session was lost".formatted(describe()), e);
        }
    }

    private String describe() {
        return name == null ? "LMR #" + id : "LMR \"%s\"".formatted(name);
    }

    /** Does it at the session of now, and at the next one if that is lost meanwhile. */
    private <T> T repeat(Function<LmrHandle, T> operation) {
        long deadlineNs = keeper.deadlineNs();
        while (true) {
            Mapped now = mapped;
            try {
                now = now(deadlineNs);
                return operation.apply(now.handle());
            } catch (SessionLostException lost) {
                keeper.requireUnlocked(now.session());
                keeper.afterLoss(lost, deadlineNs);
            }
        }
    }

    private void again(Consumer<LmrHandle> operation) {
        Boolean unused = repeat(handle -> {
            operation.accept(handle);
            return true;
        });
    }

    private LmrHandle once() {
        return now(keeper.deadlineNs()).handle();
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
        return mapped.handle().permissions();
    }

    @Override
    public void read(long offset, MemorySegment destination) {
        Mapped now = mapped;
        try {
            now.handle().read(offset, destination);
        } catch (SessionLostException lost) {
            keeper.requireUnlocked(now.session());
            again(handle -> handle.read(offset, destination));
        }
    }

    @Override
    public void write(long offset, MemorySegment source) {
        Mapped now = mapped;
        try {
            now.handle().write(offset, source);
        } catch (SessionLostException lost) {
            keeper.requireUnlocked(now.session());
            again(handle -> handle.write(offset, source));
        }
    }

    @Override
    public void read(List<LmrSlice> slices) {
        Mapped now = mapped;
        try {
            now.handle().read(slices);
        } catch (SessionLostException lost) {
            keeper.requireUnlocked(now.session());
            again(handle -> handle.read(slices));
        }
    }

    @Override
    public void write(List<LmrSlice> slices) {
        Mapped now = mapped;
        try {
            now.handle().write(slices);
        } catch (SessionLostException lost) {
            keeper.requireUnlocked(now.session());
            again(handle -> handle.write(slices));
        }
    }

    @Override
    public CompletableFuture<@Nullable Void> readAsync(List<LmrSlice> slices) {
        return once().readAsync(slices);
    }

    @Override
    public CompletableFuture<@Nullable Void> writeAsync(List<LmrSlice> slices) {
        return once().writeAsync(slices);
    }

    @Override
    public void memset(long offset, long length, byte value) {
        again(handle -> handle.memset(offset, length, value));
    }

    @Override
    public long fetchAdd(long offset, long delta) {
        return once().fetchAdd(offset, delta);
    }

    @Override
    public long testSet(long offset, long expected, long value) {
        return once().testSet(offset, expected, value);
    }

    @Override
    public List<Extent> extents() {
        return repeat(LmrHandle::extents);
    }

    @Override
    public void grant(String principal, Set<Permission> permissions) {
        again(handle -> handle.grant(principal, permissions));
    }

    @Override
    public void moveTo(String node) {
        again(handle -> handle.moveTo(node));
    }

    @Override
    public void unmap() {
        unmapped = true;
        try {
            mapped.handle().unmap();
        } catch (SessionLostException e) {
            // The end of the session gave it back.
        }
    }

    @Override
    public void free() {
        try {
            once().free();
        } catch (SessionLostException lost) {
            try {
                again(LmrHandle::free);
            } catch (LmrFreedException e) {
                // The first attempt did it.
            }
        }
    }

    @Override
    public String toString() {
        return describe();
    }
}

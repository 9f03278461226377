package dev.lite.client.reattach;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.api.SessionLostException;
import dev.lite.client.reattach.PerSession.Bound;
import dev.lite.os.waiting.Deadline;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The memory of the current session. Its handles outlive the session. Any thread. */
final class ReattachingMemory implements LtMemory {
    private final SessionKeeper keeper;

    ReattachingMemory(SessionKeeper keeper) {
        this.keeper = keeper;
    }

    /** Not repeated after a loss: a malloc may have taken effect. */
    private LmrHandle create(Deadline deadline, Function<LtMemory, LmrHandle> create) {
        Lite session = keeper.open(deadline);
        return new ReattachingHandle(keeper, new Bound<>(session, create.apply(session.memory())));
    }

    private LmrHandle map(Deadline deadline, Function<LtMemory, LmrHandle> map) {
        while (true) {
            try {
                return create(deadline, map);
            } catch (SessionLostException lost) {
                keeper.pauseBeforeRetry(lost, deadline);
            }
        }
    }

    @Override
    public LmrHandle malloc(LmrSpec spec, Duration deadline) {
        return malloc(spec, Deadline.ofCall(deadline));
    }

    @Override
    public LmrHandle malloc(LmrSpec spec) {
        return malloc(spec, keeper.deadline());
    }

    private LmrHandle malloc(LmrSpec spec, Deadline deadline) {
        Objects.requireNonNull(spec, "spec");
        return create(deadline, memory -> memory.malloc(spec, SessionKeeper.remaining(deadline)));
    }

    @Override
    public LmrHandle createOrMap(LmrSpec spec, Set<Permission> permissions, Duration deadline) {
        return createOrMap(spec, permissions, Deadline.ofCall(deadline));
    }

    @Override
    public LmrHandle createOrMap(LmrSpec spec, Set<Permission> permissions) {
        return createOrMap(spec, permissions, keeper.deadline());
    }

    /** Repeated after a loss: the second call maps what the first one created. */
    private LmrHandle createOrMap(LmrSpec spec, Set<Permission> permissions, Deadline deadline) {
        LtMemory.checkCreateOrMap(spec, permissions); // also while the node is away
        return map(deadline, memory -> memory.createOrMap(spec, permissions, SessionKeeper.remaining(deadline)));
    }

    @Override
    public LmrHandle map(String name, Set<Permission> permissions, Duration deadline) {
        return map(name, permissions, Deadline.ofCall(deadline));
    }

    @Override
    public LmrHandle map(String name, Set<Permission> permissions) {
        return map(name, permissions, keeper.deadline());
    }

    private LmrHandle map(String name, Set<Permission> permissions, Deadline deadline) {
        LtMemory.checkMap(name, permissions);
        return map(deadline, memory -> memory.map(name, permissions, SessionKeeper.remaining(deadline)));
    }

    @Override
    public LmrHandle map(long id, Set<Permission> permissions, Duration deadline) {
        return map(id, permissions, Deadline.ofCall(deadline));
    }

    @Override
    public LmrHandle map(long id, Set<Permission> permissions) {
        return map(id, permissions, keeper.deadline());
    }

    private LmrHandle map(long id, Set<Permission> permissions, Deadline deadline) {
        LtMemory.checkMap(id, permissions);
        return map(deadline, memory -> memory.map(id, permissions, SessionKeeper.remaining(deadline)));
    }

    @Override
    public LmrHandle register(LmrSpec spec, MemorySegment segment) {
        LtMemory.checkRegister(spec, segment);
        return create(keeper.deadline(), memory -> memory.register(spec, segment));
    }

    @Override
    public void memcpy(
            LmrHandle source, long sourceOffset, LmrHandle destination, long destinationOffset, long length) {
        copy(
                source,
                destination,
                (memory, from, to) -> memory.memcpy(from, sourceOffset, to, destinationOffset, length));
    }

    @Override
    public void memmove(
            LmrHandle source, long sourceOffset, LmrHandle destination, long destinationOffset, long length) {
        copy(
                source,
                destination,
                (memory, from, to) -> memory.memmove(from, sourceOffset, to, destinationOffset, length));
    }

    private interface Copy {
        void run(LtMemory memory, LmrHandle from, LmrHandle to);
    }

    /** Not repeated after a loss: a second memmove of overlapping ranges has another result. */
    private void copy(LmrHandle source, LmrHandle destination, Copy copy) {
        Objects.requireNonNull(source, "source");
        Objects.requireNonNull(destination, "destination");
        Deadline deadline = keeper.deadline();
        while (true) {
            Lite session = keeper.open(deadline);
            LmrHandle from = handle(source, session, deadline);
            LmrHandle to = from == null ? null : handle(destination, session, deadline);
            if (from != null && to != null) {
                copy.run(session.memory(), from, to);
                return;
            }
            // The session was lost meanwhile, before the copy began.
            keeper.pauseBeforeRetry(new SessionLostException("the session was lost before the copy began"), deadline);
        }
    }

    /** The handle in this session; null if there is another session now. That of another application is refused later. */
    private @Nullable LmrHandle handle(LmrHandle handle, Lite session, Deadline deadline) {
        if (!(handle.unwrap() instanceof ReattachingHandle own)) {
            return handle;
        }
        Bound<LmrHandle> current = own.current(deadline);
        return current.session() == session || !own.isOf(keeper) ? current.value() : null;
    }

    @Override
    public void fence(Duration deadline) {
        Deadline until = Deadline.ofCall(deadline);
        keeper.open(until).memory().fence(SessionKeeper.remaining(until));
    }
}

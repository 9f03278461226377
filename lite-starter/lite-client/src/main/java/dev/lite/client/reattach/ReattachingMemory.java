package dev.lite.client.reattach;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.api.SessionLostException;
import dev.lite.client.reattach.ReattachingHandle.Mapped;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Set;
import java.util.function.Function;

/** The memory of whichever session is open now; its handles outlive the session. */
final class ReattachingMemory implements LtMemory {
    private final SessionKeeper keeper;

    ReattachingMemory(SessionKeeper keeper) {
        this.keeper = keeper;
    }

    /** A malloc is not repeated: the LMR of the first attempt may be there. */
    private LmrHandle make(long deadlineNs, Function<LtMemory, LmrHandle> malloc) {
        Lite session = keeper.open(deadlineNs);
        return new ReattachingHandle(keeper, new Mapped(session, malloc.apply(session.memory())));
    }

    private LmrHandle map(long deadlineNs, Function<LtMemory, LmrHandle> map) {
        while (true) {
            try {
                return make(deadlineNs, map);
            } catch (SessionLostException lost) {
                keeper.afterLoss(lost, deadlineNs);
            }
        }
    }

    @Override
    public LmrHandle malloc(LmrSpec spec, Duration deadline) {
        long deadlineNs = SessionKeeper.deadlineNs(deadline);
        return make(deadlineNs, memory -> memory.malloc(spec, SessionKeeper.left(deadlineNs)));
    }

    @Override
    public LmrHandle malloc(LmrSpec spec) {
        return malloc(spec, keeper.deadline());
    }

    @Override
    public LmrHandle map(String name, Set<Permission> permissions, Duration deadline) {
        long deadlineNs = SessionKeeper.deadlineNs(deadline);
        return map(deadlineNs, memory -> memory.map(name, permissions, SessionKeeper.left(deadlineNs)));
    }

    @Override
    public LmrHandle map(String name, Set<Permission> permissions) {
        return map(name, permissions, keeper.deadline());
    }

    @Override
    public LmrHandle map(long id, Set<Permission> permissions, Duration deadline) {
        long deadlineNs = SessionKeeper.deadlineNs(deadline);
        return map(deadlineNs, memory -> memory.map(id, permissions, SessionKeeper.left(deadlineNs)));
    }

    @Override
    public LmrHandle map(long id, Set<Permission> permissions) {
        return map(id, permissions, keeper.deadline());
    }

    @Override
    public LmrHandle register(LmrSpec spec, MemorySegment segment) {
        return make(keeper.deadlineNs(), memory -> memory.register(spec, segment));
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

    /** Not repeated: where both overlap, a second copy would not do the same. */
    private void copy(LmrHandle source, LmrHandle destination, Copy copy) {
        long deadlineNs = keeper.deadlineNs();
        Lite session = keeper.open(deadlineNs);
        copy.run(session.memory(), current(source, deadlineNs), current(destination, deadlineNs));
    }

    private static LmrHandle current(LmrHandle handle, long deadlineNs) {
        return handle instanceof ReattachingHandle own ? own.now(deadlineNs).handle() : handle;
    }

    @Override
    public void fence(Duration deadline) {
        long deadlineNs = SessionKeeper.deadlineNs(deadline);
        keeper.open(deadlineNs).memory().fence(SessionKeeper.left(deadlineNs));
    }
}

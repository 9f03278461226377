package dev.lite.boot.resilience;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;

/** Repeats map and createOrMap, and makes handles that repeat reads and writes. Any thread. */
final class ResilientMemory implements LtMemory {

    private final LtMemory memory;
    private final Resilience resilience;

    ResilientMemory(LtMemory memory, Resilience resilience) {
        this.memory = memory;
        this.resilience = resilience;
    }

    private LmrHandle mapped(Supplier<LmrHandle> mapping) {
        return new ResilientHandle(resilience.retry(mapping), resilience);
    }

    private LmrHandle mapped(Duration deadline, Function<Duration, LmrHandle> mapping) {
        return new ResilientHandle(resilience.retry(deadline, mapping), resilience);
    }

    private LmrHandle created(LmrHandle handle) {
        return new ResilientHandle(handle, resilience);
    }

    @Override
    public LmrHandle malloc(LmrSpec spec, Duration deadline) {
        return created(memory.malloc(spec, deadline));
    }

    @Override
    public LmrHandle malloc(LmrSpec spec) {
        return created(memory.malloc(spec));
    }

    @Override
    public LmrHandle createOrMap(LmrSpec spec, Set<Permission> permissions, Duration deadline) {
        return mapped(deadline, left -> memory.createOrMap(spec, permissions, left));
    }

    @Override
    public LmrHandle createOrMap(LmrSpec spec, Set<Permission> permissions) {
        return mapped(() -> memory.createOrMap(spec, permissions));
    }

    @Override
    public LmrHandle map(String name, Set<Permission> permissions, Duration deadline) {
        return mapped(deadline, left -> memory.map(name, permissions, left));
    }

    @Override
    public LmrHandle map(String name, Set<Permission> permissions) {
        return mapped(() -> memory.map(name, permissions));
    }

    @Override
    public LmrHandle map(long id, Set<Permission> permissions, Duration deadline) {
        return mapped(deadline, left -> memory.map(id, permissions, left));
    }

    @Override
    public LmrHandle map(long id, Set<Permission> permissions) {
        return mapped(() -> memory.map(id, permissions));
    }

    @Override
    public LmrHandle register(LmrSpec spec, MemorySegment segment) {
        return created(memory.register(spec, segment));
    }

    @Override
    public void memcpy(
            LmrHandle source, long sourceOffset, LmrHandle destination, long destinationOffset, long length) {
        memory.memcpy(own("source", source), sourceOffset, own("destination", destination), destinationOffset, length);
    }

    @Override
    public void memmove(
            LmrHandle source, long sourceOffset, LmrHandle destination, long destinationOffset, long length) {
        memory.memmove(own("source", source), sourceOffset, own("destination", destination), destinationOffset, length);
    }

    /** The session's own handle below all wrappers. */
    private static LmrHandle own(String parameter, LmrHandle handle) {
        LmrHandle outer = Objects.requireNonNull(handle, parameter);
        LmrHandle inner = handle.unwrap();
        while (inner != outer) {
            outer = inner;
            inner = outer.unwrap();
        }
        return inner;
    }

    @Override
    public void fence(Duration deadline) {
        memory.fence(deadline);
    }
}

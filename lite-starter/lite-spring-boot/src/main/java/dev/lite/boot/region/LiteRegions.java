package dev.lite.boot.region;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.InjectionPoint;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.env.Environment;
import org.springframework.util.unit.DataSize;

/** The handles that the context has injected; as many as there are different annotations in its code. Any thread. */
final class LiteRegions implements AutoCloseable {

    private final LtMemory memory;
    private final Environment environment;
    private final Map<Region, LazyHandle> handles = new ConcurrentHashMap<>();

    /**
     * What an annotation asks for.
     *
     * @param spec null if the LMR must exist
     */
    private record Region(String name, @Nullable LmrSpec spec, Set<Permission> permissions) {}

    LiteRegions(LtMemory memory, Environment environment) {
        this.memory = memory;
        this.environment = environment;
    }

    /**
     * The handle for an injection point.
     *
     * @throws IllegalStateException when its annotation is missing, or has a value that is not valid
     */
    LmrHandle at(InjectionPoint point) {
        MergedAnnotation<LiteRegion> annotation =
                MergedAnnotations.from(point.getAnnotations()).get(LiteRegion.class);
        if (!annotation.isPresent()) {
            throw new IllegalStateException("%s has no @LiteRegion".formatted(point));
        }
        LiteRegion wanted = annotation.synthesize();
        try {
            return handles.computeIfAbsent(region(wanted), region -> new LazyHandle(region.name(), () -> map(region)));
        } catch (IllegalArgumentException e) {
            throw new IllegalStateException(
                    "@LiteRegion(\"%s\") of %s: %s".formatted(wanted.value(), point.getMember(), e.getMessage()), e);
        }
    }

    private Region region(LiteRegion wanted) {
        String name = environment.resolveRequiredPlaceholders(wanted.value());
        LmrSpec.checkName(name);
        Set<Permission> permissions = Set.copyOf(List.of(wanted.permissions())); // one may be there twice
        if (permissions.isEmpty()) {
            throw new IllegalArgumentException("it has no permission; at least one is needed");
        }
        String size = environment.resolveRequiredPlaceholders(wanted.size());
        if (size.isEmpty()) {
            if (wanted.defaultPermissions().length > 0) {
                throw new IllegalArgumentException("it has default permissions, which need a size");
            }
            return new Region(name, null, permissions);
        }
        LmrSpec spec = LmrSpec.of(bytes(size)).withName(name).withDefaultPermissions(wanted.defaultPermissions());
        return new Region(name, spec, permissions);
    }

    private static long bytes(String size) {
        try {
            return DataSize.parse(size).toBytes();
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("the size \"%s\" is not a data size such as 64MB".formatted(size), e);
        }
    }

    private LmrHandle map(Region region) {
        LmrSpec spec = region.spec();
        if (spec != null) {
            return memory.createOrMap(spec, region.permissions());
        }
        try {
            return memory.map(region.name(), region.permissions());
        } catch (LmrNotFoundException e) {
            throw new LmrNotFoundException(
                    "no LMR has the name \"%s\"; give its @LiteRegion a size to create it".formatted(region.name()), e);
        }
    }

    /** Unmaps all handles, also if one of them fails. At the same time: if the node hangs, each waits for the session's deadline. */
    @Override
    public void close() {
        Queue<RuntimeException> failures = new ConcurrentLinkedQueue<>();
        try (ExecutorService unmapping = Executors.newThreadPerTaskExecutor(
                Thread.ofVirtual().name("lite-regions").factory())) {
            handles.values().forEach(handle -> unmapping.execute(() -> unmap(handle, failures)));
        }
        RuntimeException first = failures.poll();
        if (first != null) {
            failures.forEach(first::addSuppressed);
            throw first;
        }
    }

    private static void unmap(LazyHandle handle, Queue<RuntimeException> failures) {
        try {
            handle.unmap();
        } catch (RuntimeException e) {
            failures.add(e);
        }
    }
}

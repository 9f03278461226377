package dev.lite.boot.region;

import dev.lite.api.Extent;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSlice;
import dev.lite.api.Permission;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A handle that maps its LMR at the first use. After that a use costs one volatile read more. Any thread. */
final class LazyHandle implements LmrHandle {

    private final String name;
    private final Supplier<LmrHandle> mapping;
    private volatile @Nullable LmrHandle mapped;

    /** The mapping under way, or its outcome; null before the first use, and after a failed one. */
    private final AtomicReference<@Nullable CompletableFuture<LmrHandle>> attempt = new AtomicReference<>();

    /**
     * Maps nothing yet.
     *
     * @param mapping maps the LMR; waits at most for the session's deadline
     */
    LazyHandle(String name, Supplier<LmrHandle> mapping) {
        this.name = name;
        this.mapping = mapping;
    }

    @Override
    public LmrHandle unwrap() {
        LmrHandle known = mapped;
        return known != null ? known : map();
    }

    private LmrHandle map() {
        CompletableFuture<LmrHandle> own = new CompletableFuture<>();
        CompletableFuture<LmrHandle> other = attempt.compareAndExchange(null, own);
        if (other != null) {
            return outcome(other);
        }
        try {
            LmrHandle handle = mapping.get();
            mapped = handle;
            own.complete(handle);
            return handle;
        } catch (RuntimeException | Error e) {
            boolean unused = attempt.compareAndSet(own, null); // the next use tries again
            own.completeExceptionally(e);
            throw e;
        }
    }

    /** Waits for another thread, which waits at most for the session's deadline. */
    private static LmrHandle outcome(CompletableFuture<LmrHandle> attempt) {
        try {
            return attempt.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw e;
        }
    }

    /** Also without a mapping, which it prevents from now on. */
    @Override
    public void unmap() {
        LmrFreedException ended = new LmrFreedException(
                "the handle of LMR \"%s\" was unmapped, because its context was closed".formatted(name));
        CompletableFuture<LmrHandle> before = attempt.getAndSet(CompletableFuture.failedFuture(ended));
        if (before == null || before.exceptionally(failure -> this).join() == this) {
            return; // it was never mapped
        }
        before.join().unmap();
    }

    @Override
    public Optional<String> name() {
        return Optional.of(name);
    }

    @Override
    public long id() {
        return unwrap().id();
    }

    @Override
    public long size() {
        return unwrap().size();
    }

    @Override
    public Set<Permission> permissions() {
        return unwrap().permissions();
    }

    @Override
    public void read(long offset, MemorySegment destination) {
        unwrap().read(offset, destination);
    }

    @Override
    public void write(long offset, MemorySegment source) {
        unwrap().write(offset, source);
    }

    @Override
    public void read(List<LmrSlice> slices) {
        unwrap().read(slices);
    }

    @Override
    public void write(List<LmrSlice> slices) {
        unwrap().write(slices);
    }

    @Override
    public CompletableFuture<@Nullable Void> readAsync(List<LmrSlice> slices) {
        return unwrap().readAsync(slices);
    }

    @Override
    public CompletableFuture<@Nullable Void> writeAsync(List<LmrSlice> slices) {
        return unwrap().writeAsync(slices);
    }

    @Override
    public void memset(long offset, long length, byte value) {
        unwrap().memset(offset, length, value);
    }

    @Override
    public long fetchAdd(long offset, long delta) {
        return unwrap().fetchAdd(offset, delta);
    }

    @Override
    public long testSet(long offset, long expected, long value) {
        return unwrap().testSet(offset, expected, value);
    }

    @Override
    public List<Extent> extents() {
        return unwrap().extents();
    }

    @Override
    public void grant(String principal, Set<Permission> permissions) {
        unwrap().grant(principal, permissions);
    }

    @Override
    public void moveTo(String node) {
        unwrap().moveTo(node);
    }

    @Override
    public void free() {
        unwrap().free();
    }

    @Override
    public String toString() {
        return "@LiteRegion " + name;
    }
}

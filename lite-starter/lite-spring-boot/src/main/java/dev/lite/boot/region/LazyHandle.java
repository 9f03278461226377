package dev.lite.boot.region;

import dev.lite.api.ForwardingLmrHandle;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.Priority;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A handle that maps its LMR at the first use. After that a use costs one volatile read more. Any thread. */
class LazyHandle extends ForwardingLmrHandle {

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
            if (e.getCause() instanceof Error failure) {
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

    /** Maps nothing yet, either. */
    @Override
    public LmrHandle withPriority(Priority priority) {
        Objects.requireNonNull(priority, "priority");
        LazyHandle whole = this;
        return new LazyHandle(name, () -> whole.unwrap().withPriority(priority)) {
            @Override
            public void unmap() {
                whole.unmap();
            }
        };
    }

    @Override
    public Optional<String> name() {
        return Optional.of(name);
    }

    @Override
    public String toString() {
        return "@LiteRegion " + name;
    }
}

package dev.lite.boot.lock;

import dev.lite.api.HeldLock;
import org.jspecify.annotations.Nullable;

/** The locks of the methods with {@link LiteLock} that the current thread is executing. Any thread. */
public final class LiteLocks {

    private static final ScopedValue<Chain> CHAIN = ScopedValue.newInstance();

    /** @param thread that runs the method: forks of a {@code StructuredTaskScope} inherit the chain, but not the locks */
    private record Chain(
            HeldLock held, Thread thread, @Nullable Chain outer) {}

    private LiteLocks() {}

    /**
     * The lock of the innermost method with {@link LiteLock}. The method's end releases it; do not close it.
     *
     * @throws IllegalStateException when this thread is not executing such a method: for example when the method was not called through
     *     the bean's proxy, or has passed its work to another thread
     */
    public static HeldLock current() {
        Chain chain = own();
        if (chain == null) {
            throw new IllegalStateException("the thread %s is not in a method with @LiteLock, called through its bean"
                    .formatted(Thread.currentThread().getName()));
        }
        return chain.held();
    }

    /** The locks of the methods that this thread is in; null if it is in none. */
    private static @Nullable Chain own() {
        Chain chain = CHAIN.isBound() ? CHAIN.get() : null;
        return chain != null && chain.thread() == Thread.currentThread() ? chain : null;
    }

    /** The lock of that name that a method holds that this thread is in; null if there is none. */
    static @Nullable HeldLock find(String name) {
        Chain chain = own();
        while (chain != null && !chain.held().name().equals(name)) {
            chain = chain.outer();
        }
        return chain == null ? null : chain.held();
    }

    /** Runs a method with this lock as the current one. */
    static @Nullable Object run(HeldLock held, ScopedValue.CallableOp<@Nullable Object, Throwable> method)
            throws Throwable {
        return ScopedValue.where(CHAIN, new Chain(held, Thread.currentThread(), own()))
                .call(method);
    }
}

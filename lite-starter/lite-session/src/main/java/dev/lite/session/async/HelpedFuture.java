package dev.lite.session.async;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A future whose waiting threads help before they block. So do those that wait for a stage of it. */
final class HelpedFuture<T extends @Nullable Object> extends CompletableFuture<T> {
    /** As good as forever, and safe to add to a time. */
    private static final long FOREVER_NS = Long.MAX_VALUE / 4;

    private final WaitingHelp help;
    /** Whether it completes with another future, without its own methods. */
    private final boolean stage;

    private final AtomicReference<PollingHelp.@Nullable Wait> wait = new AtomicReference<>();

    HelpedFuture(WaitingHelp help, boolean stage) {
        this.help = help;
        this.stage = stage;
    }

    /** From now on its end signals a wait. Returns false if another one is signalled, or if its end may not be noticed. */
    boolean beginWait(PollingHelp.Wait its) {
        return !stage && wait.compareAndSet(null, its);
    }

    /** The end of the wait for which {@link #beginWait} returned true. */
    void endWait() {
        wait.set(null);
    }

    private boolean signalled(boolean changed) {
        PollingHelp.Wait its = wait.get();
        if (its != null) {
            its.signal();
        }
        return changed;
    }

    @Override
    public boolean complete(T value) {
        return signalled(super.complete(value));
    }

    @Override
    public boolean completeExceptionally(Throwable failure) {
        return signalled(super.completeExceptionally(failure));
    }

    @Override
    public boolean cancel(boolean mayInterrupt) {
        return signalled(super.cancel(mayInterrupt));
    }

    @Override
    public <U extends @Nullable Object> CompletableFuture<U> newIncompleteFuture() {
        return new HelpedFuture<>(help, true);
    }

    @Override
    public T get() throws InterruptedException, ExecutionException {
        help(FOREVER_NS);
        return super.get();
    }

    @Override
    public T get(long timeout, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException {
        long timeoutNs = Math.min(unit.toNanos(timeout), FOREVER_NS);
        long beginNs = System.nanoTime();
        help(timeoutNs);
        return super.get(Math.max(0, timeoutNs - (System.nanoTime() - beginNs)), TimeUnit.NANOSECONDS);
    }

    @Override
    public T join() {
        help(FOREVER_NS);
        return super.join();
    }

    private void help(long ns) {
        if (!isDone()) {
            help.help(this, System.nanoTime() + ns);
        }
    }
}

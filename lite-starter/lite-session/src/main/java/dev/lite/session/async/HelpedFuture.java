package dev.lite.session.async;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** A future whose waiting threads help before they block. So do those that wait for a stage of it. */
final class HelpedFuture<T extends @Nullable Object> extends CompletableFuture<T> {
    /** As good as forever, and safe to add to a time. */
    private static final long FOREVER_NS = Long.MAX_VALUE / 4;

    private final WaitingHelp help;

    HelpedFuture(WaitingHelp help) {
        this.help = help;
    }

    @Override
    public <U extends @Nullable Object> CompletableFuture<U> newIncompleteFuture() {
        return new HelpedFuture<>(help);
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

package dev.lite.tier.rpc;

import dev.lite.api.LtRpc;
import dev.lite.os.waiting.DeadlineSweeper;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The asynchronous calls of a node's own applications. A call has no thread: the thread that polls takes its reply, and a virtual
 * thread then completes the future, since its dependents may block. Any thread.
 *
 * <p>Bound: the slots of the principal and the function. A call that finds none free waits for one on a virtual thread.
 */
final class AsyncCalls {
    private static final long ABOUT_TO_END_NS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final byte[] EMPTY = {};

    private final RpcCaller caller;
    private final Set<Call> underWay = ConcurrentHashMap.newKeySet();
    private final DeadlineSweeper sweeper = new DeadlineSweeper(this::sweep);

    AsyncCalls(RpcCaller caller) {
        this.caller = caller;
    }

    /**
     * Calls without waiting; see {@link dev.lite.api.RpcClient#callAsync}.
     *
     * @param request begins with the context; is copied before this method returns
     * @param contextBytes 0: there is no context
     */
    CompletableFuture<byte[]> call(FunctionClient target, byte[] request, int contextBytes, Duration deadline) {
        long timeoutNs = FunctionClient.toNanos(deadline);
        Call call = new Call(target, deadline, System.nanoTime() + timeoutNs);
        underWay.add(call);
        boolean posted = false;
        try {
            MemorySegment segment = MemorySegment.ofArray(request);
            posted = caller.tryPost(target, segment, contextBytes, LtRpc.MESSAGE_BYTES_MAX, timeoutNs, call);
        } catch (RuntimeException refused) {
            underWay.remove(call);
            return CompletableFuture.failedFuture(refused);
        }
        if (posted) {
            sweeper.sweepAfter(call.endNs);
            return call.future;
        }
        underWay.remove(call);
        byte[] copy = request.clone();
        // On its own virtual thread, where its dependents also run: none of them ever runs on a polling thread.
        return CompletableFuture.supplyAsync(
                () -> caller.call(target, MemorySegment.ofArray(copy), contextBytes, deadline), AsyncCalls::onThread);
    }

    static void onThread(Runnable task) {
        Thread unused = Thread.ofVirtual().name("lite-async-call").start(task);
    }

    private void sweep() {
        long now = System.nanoTime();
        for (Call call : underWay) {
            if (call.endNs - now > 0) {
                sweeper.sweepAfter(call.endNs);
            } else if (call.abandon()) {
                call.failed(RpcCaller.noReply(call.target, call.deadline));
            } else {
                sweeper.sweepAfter(now + ABOUT_TO_END_NS); // another thread posts it now, or ends it
            }
        }
    }

    private final class Call extends PostedCall {
        final FunctionClient target;
        final Duration deadline;
        final long endNs;
        final CompletableFuture<byte[]> future = new CompletableFuture<>();
        private byte[] reply = EMPTY; // confined to the thread that ends the call

        Call(FunctionClient target, Duration deadline, long endNs) {
            this.target = target;
            this.deadline = deadline;
            this.endNs = endNs;
        }

        @Override
        protected MemorySegment destination(int length) {
            reply = new byte[length];
            return MemorySegment.ofArray(reply);
        }

        @Override
        protected void replied(int length) {
            end(reply, null);
        }

        @Override
        protected void failed(RuntimeException why) {
            end(EMPTY, why);
        }

        private void end(byte[] result, @Nullable RuntimeException why) {
            underWay.remove(this);
            onThread(() -> {
                if (why == null) {
                    future.complete(result);
                } else {
                    future.completeExceptionally(why);
                }
            });
        }

        @Override
        protected void later(Runnable task) {
            onThread(task);
        }
    }
}

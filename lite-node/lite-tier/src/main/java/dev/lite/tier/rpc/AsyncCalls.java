package dev.lite.tier.rpc;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtRpc;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.DeadlineSweeper;
import dev.lite.os.waiting.Durations;
import dev.lite.os.waiting.TaskStart;
import dev.lite.session.async.HelpedFutures;
import dev.lite.session.wire.WireText;
import dev.lite.tier.peer.LastRole;
import dev.lite.tier.peer.PollRole;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The asynchronous calls of a node's own applications. A call has no thread: the thread that polls takes its reply. A thread that
 * waits for a call polls itself, and completes futures on which nothing depends. For the others, and if no thread waits, a virtual
 * thread does, since dependents may block. Any thread.
 *
 * <p>Bound: the slots of the principal and the function. A call that finds none free waits for one on a virtual thread, with a copy of
 * its request. All such calls of the node together take at most about {@value #ON_THREADS_KIB_MAX} KiB; starting another one waits.
 */
final class AsyncCalls {
    private static final long ABOUT_TO_END_NS = TimeUnit.MILLISECONDS.toNanos(1);
    /** A call that another thread has posted or ended for so long after its deadline never ends: that thread has failed. */
    private static final long LOST_NS = TimeUnit.SECONDS.toNanos(1);

    private static final byte[] EMPTY = {};
    private static final int ON_THREADS_KIB_MAX = 64 << 10;
    /** Of a thread that waits, with what belongs to it. */
    private static final int THREAD_KIB = 4;

    private final RpcCaller caller;
    private final PostedCalls postedCalls;
    private final LastRole lastRole = new LastRole();
    private final HelpedFutures futures = new HelpedFutures(lastRole);
    private final Set<Call> underWay = ConcurrentHashMap.newKeySet();
    /**
     * A permit for each KiB. Fair: else a long request would wait for ever while short ones take each permit
     * that is given back.
     */
    private final Semaphore onThreads = new Semaphore(ON_THREADS_KIB_MAX, true);

    private final DeadlineSweeper sweeper = new DeadlineSweeper(this::sweep);

    /** @param caller makes those that must wait */
    AsyncCalls(RpcCaller caller, PostedCalls postedCalls) {
        this.caller = caller;
        this.postedCalls = postedCalls;
    }

    /**
     * Calls without waiting for the reply; see {@link dev.lite.api.RpcClient#callAsync}.
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
            sweeper.sweepAfter(call.endNs); // before the post: without memory for a timer, nothing is posted
            MemorySegment segment = MemorySegment.ofArray(request);
            posted = postedCalls.tryPost(target, segment, contextBytes, LtRpc.MESSAGE_BYTES_MAX, timeoutNs, call);
        } catch (RuntimeException refused) {
            return CompletableFuture.failedFuture(refused);
        } finally {
            if (!posted) {
                underWay.remove(call);
            }
        }
        if (posted) {
            PollRole role = postedCalls.roleOf(target);
            if (role != null) {
                lastRole.used(role);
            }
            return call.future;
        }
        return onThread(
                target,
                request,
                deadline,
                (copy, left) -> caller.call(target, MemorySegment.ofArray(copy), contextBytes, left));
    }

    /**
     * Calls on a virtual thread of its own, where its dependents also run: none of them ever runs on a polling thread. The stages of the
     * future get what the call throws, as those of a call without a thread do. Waits while the node has too many such calls. An
     * interrupt does not end that wait; it is kept.
     *
     * @param what is called, for messages
     * @param request is copied before this method returns
     */
    CompletableFuture<byte[]> onThread(Object what, byte[] request, Duration deadline, CallOfCopy call) {
        try {
            WireText.checkRequest(what + ": the request", request.length, 0, LtRpc.MESSAGE_BYTES_MAX);
        } catch (LimitExceededException tooLong) { // it might wait for more memory than that of all such calls
            return CompletableFuture.failedFuture(tooLong);
        }
        int kib = THREAD_KIB + Math.ceilDiv(request.length, 1 << 10);
        long endNs = System.nanoTime() + FunctionClient.toNanos(deadline);
        boolean waits = onThreads.hasQueuedThreads() || !onThreads.tryAcquire(kib); // tryAcquire alone would overtake
        if (waits && !Deadline.awaitPermits(onThreads, kib, endNs)) {
            return CompletableFuture.failedFuture(new LiteTimeoutException(
                    "%s: not started within %s: the node's asynchronous calls that wait took %d MiB, their limit"
                            .formatted(what, Durations.text(deadline), ON_THREADS_KIB_MAX >> 10)));
        }
        boolean started = false;
        try {
            Duration left = waits ? Duration.ofNanos(Math.max(1, endNs - System.nanoTime())) : deadline;
            CompletableFuture<byte[]> future = startOnThread(request.clone(), kib, left, call);
            started = true;
            return future;
        } finally {
            if (!started) { // no memory for a thread
                onThreads.release(kib);
            }
        }
    }

    private CompletableFuture<byte[]> startOnThread(byte[] copy, int kib, Duration left, CallOfCopy call) {
        CompletableFuture<byte[]> future = new CompletableFuture<>();
        startThread(() -> {
            byte[] reply;
            try {
                reply = call.call(copy, left);
            } catch (RuntimeException | Error failure) {
                onThreads.release(kib); // first: a dependent stage may start the next call
                future.completeExceptionally(failure);
                return;
            }
            onThreads.release(kib);
            future.complete(reply);
        });
        return future;
    }

    /** A call with a copy of its request, within what is left of its deadline. */
    interface CallOfCopy {
        byte[] call(byte[] copy, Duration left);
    }

    private static void startThread(Runnable task) {
        TaskStart.virtual("lite-async-call", task);
    }

    private void sweep() {
        long now = System.nanoTime();
        for (Call call : underWay) {
            if (call.endNs - now > 0) {
                sweeper.sweepAfter(call.endNs);
            } else if (call.abandon() || now - call.endNs >= LOST_NS) {
                call.measured();
                call.failed(RpcRequests.noReply(call.target, call.deadline));
            } else {
                sweeper.sweepAfter(now + ABOUT_TO_END_NS); // another thread posts it now, or ends it
            }
        }
    }

    private final class Call extends PostedCall {
        final FunctionClient target;
        final Duration deadline;
        final long endNs;
        final CompletableFuture<byte[]> future = futures.newFuture();
        private byte[] reply = EMPTY; // confined to the thread that ends the call

        Call(FunctionClient target, Duration deadline, long endNs) {
            this.target = target;
            this.deadline = deadline;
            this.endNs = endNs;
        }

        @Override
        protected boolean isSoon() {
            return futures.isFollowed();
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
            Runnable completion = why == null ? () -> future.complete(result) : () -> future.completeExceptionally(why);
            futures.complete(future, completion, false);
            underWay.remove(this); // only now: without memory for the rest, a sweep ends it
        }

        @Override
        protected void later(Runnable task) {
            startThread(task);
        }
    }
}

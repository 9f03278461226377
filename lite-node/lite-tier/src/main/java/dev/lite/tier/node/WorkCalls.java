package dev.lite.tier.node;

import dev.lite.api.LiteException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.RemoteWork;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * {@link RemoteWork} by calls to the nodes. A call whose connection breaks has not ended: the node may still be at work. Then
 * it is asked over the next connection until it says that nothing runs any more, or it is gone.
 */
final class WorkCalls implements RemoteWork {
    private static final Duration QUIESCE_STEP = Duration.ofSeconds(2);
    private static final long PAUSE_NS = 50_000_000;

    private final int self;
    private final LmrCalls calls;
    private final Mappers mappers;
    private final ServedWork served;
    private final Executor executor;

    WorkCalls(int self, LmrCalls calls, Mappers mappers, ServedWork served, Executor executor) {
        this.self = self;
        this.calls = calls;
        this.mappers = mappers;
        this.served = served;
        this.executor = executor;
    }

    @Override
    public CompletableFuture<@Nullable Void> memset(
            int node, UUID arena, long lmrId, List<Run> runs, byte value, Deadline deadline) {
        if (node == self) {
            return own(() -> served.memset(self, lmrId, runs, value));
        }
        return watched(node, () -> calls.memset(node, lmrId, runs, value, deadline));
    }

    @Override
    public CompletableFuture<@Nullable Void> copy(Part source, Part target, long length, Deadline deadline) {
        if (source.node() == self) {
            return own(() -> served.copy(self, source, target, length, deadline));
        }
        return watched(source.node(), () -> calls.copy(source, target, length, deadline));
    }

    private static CompletableFuture<@Nullable Void> own(Runnable work) {
        try {
            work.run();
            return CompletableFuture.completedFuture(null);
        } catch (LiteException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private interface Sending {
        CompletableFuture<byte[]> begin();
    }

    private CompletableFuture<@Nullable Void> watched(int node, Sending sending) {
        CompletableFuture<byte[]> reply;
        try {
            reply = sending.begin();
        } catch (NodeUnreachableException e) { // it was not sent
            return CompletableFuture.failedFuture(mappers.isLive(node) ? e : lost(node, e));
        } catch (LiteException e) {
            return CompletableFuture.failedFuture(e); // neither
        }
        CompletableFuture<@Nullable Void> ended = new CompletableFuture<>();
        CompletableFuture<?> unused = reply.whenComplete((none, error) -> {
            if (error == null) {
                ended.complete(null);
            } else if (error instanceof NodeUnreachableException) {
                awaitQuiet(node, error, ended);
            } else {
                ended.completeExceptionally(error);
            }
        });
        return ended;
    }

    private void awaitQuiet(int node, Throwable error, CompletableFuture<@Nullable Void> ended) {
        LmrUnavailableException lost = lost(node, error);
        try {
            executor.execute(() -> {
                while (!mappers.isGone(node) && !isQuiet(node)) {
                    LockSupport.parkNanos(PAUSE_NS);
                    if (Thread.currentThread().isInterrupted()) {
                        break; // this node stops
                    }
                }
                ended.completeExceptionally(lost);
            });
        } catch (RejectedExecutionException e) {
            ended.completeExceptionally(lost); // this node stops
        }
    }

    private static LmrUnavailableException lost(int node, Throwable error) {
        return new LmrUnavailableException(
                "node %d is lost, or its answer: %s".formatted(node, error.getMessage()), error);
    }

    private boolean isQuiet(int node) {
        try {
            calls.quiesce(node, self, Deadline.in(QUIESCE_STEP));
            return true;
        } catch (LiteException e) {
            return false; // there is no connection yet
        }
    }
}

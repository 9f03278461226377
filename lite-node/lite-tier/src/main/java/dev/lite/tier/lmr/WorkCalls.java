package dev.lite.tier.lmr;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.RemoteWork;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.control.ControlKind;
import dev.lite.tier.control.ControlMessage;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * {@link RemoteWork} by calls to the nodes. If the connection of a call breaks, the node may still be working. Then
 * this class asks the node over the next connection until the node reports that no work runs, or until the node is
 * gone.
 */
final class WorkCalls implements RemoteWork {
    private static final Duration QUIESCE_STEP = Duration.ofSeconds(2);
    private static final long PAUSE_NS = 50_000_000;

    /** At the end of a request to copy: its caller understands {@link #AWAY}. Nodes of earlier versions do not read it. */
    private static final byte WAITS_ITSELF = 1;

    /** The reply to a request to copy whose target is away; that to one that is done is empty. */
    private static final byte AWAY = 1;

    private final int self;
    private final ControlChannel channel;
    private final Mappers mappers;
    private final LocalWork localWork;
    private final Executor executor;

    /** Registers the handlers with the channel. */
    WorkCalls(int self, ControlChannel channel, Mappers mappers, LocalWork localWork, Executor executor) {
        this.self = self;
        this.channel = channel;
        this.mappers = mappers;
        this.localWork = localWork;
        this.executor = executor;
        channel.serveOfConnection(ControlKind.MEMSET, (peer, request, reply) -> {
            long lmrId = request.getLong();
            byte value = request.getByte();
            localWork.memset(peer, lmrId, request.getRuns(), value);
        });
        channel.serveOfConnection(ControlKind.COPY, (peer, request, reply) -> {
            Part source = request.getPart();
            Part target = request.getPart();
            long length = request.getLong();
            Deadline deadline = request.getDeadline();
            if (request.remaining() == 0) { // the caller has an earlier version
                localWork.copy(peer, source, target, length, deadline);
            } else if (!localWork.copyUnlessAway(peer, source, target, length, deadline)) {
                reply.putByte(AWAY);
            }
        });
        channel.serve(ControlKind.QUIESCE, (node, request, reply) -> {
            int caller = request.getInt();
            localWork.quiesce(caller, request.getDeadline());
        });
    }

    @Override
    public CompletableFuture<@Nullable Void> memset(
            int node, UUID arena, long lmrId, List<Run> runs, byte value, Deadline deadline) {
        long asked = mappers.ownIncarnation();
        if (node == self) {
            return own(() -> localWork.asOwn(asked, () -> localWork.memset(lmrId, runs, value)));
        }
        ControlMessage request =
                new ControlMessage().putLong(lmrId).putByte(value).putRuns(runs);
        CompletableFuture<@Nullable Void> ended = new CompletableFuture<>();
        watched(
                asked,
                node,
                () -> channel.begin(node, ControlKind.MEMSET, request, deadline),
                ended,
                reply -> ended.complete(null));
        return ended;
    }

    @Override
    public CompletableFuture<@Nullable Void> copy(Part source, Part target, long length, Deadline deadline) {
        return copy(mappers.ownIncarnation(), source, target, length, deadline);
    }

    /** @param asked the registration of this node that the copy belongs to; later ones do not make it */
    CompletableFuture<@Nullable Void> copy(long asked, Part source, Part target, long length, Deadline deadline) {
        if (source.node() == self) {
            return own(() -> localWork.copyAsOwn(asked, source, target, length, deadline));
        }
        CompletableFuture<@Nullable Void> ended = new CompletableFuture<>();
        sendCopy(asked, source, target, length, ended, deadline);
        return ended;
    }

    /** While the target is away, the copy waits here: the connection with the source's node has one slot for work on bytes. */
    private void sendCopy(
            long asked,
            Part source,
            Part target,
            long length,
            CompletableFuture<@Nullable Void> ended,
            Deadline deadline) {
        Sending sending = () -> {
            ControlMessage request = new ControlMessage()
                    .putPart(source)
                    .putPart(target)
                    .putLong(length)
                    .putDeadline(deadline)
                    .putByte(WAITS_ITSELF);
            return channel.begin(source.node(), ControlKind.COPY, request, deadline);
        };
        watched(asked, source.node(), sending, ended, reply -> {
            if (reply.length == 0) {
                ended.complete(null);
                return;
            }
            onExecutor(ended, () -> {
                localWork.awaitTarget(asked, target.node(), deadline);
                Polling.sleepNs(PAUSE_NS); // the source's node may be connected with it later
                if (deadline.passed()) {
                    throw new LiteTimeoutException(deadline.expired("a copy to node " + mappers.nameOf(target.node())));
                }
                sendCopy(asked, source, target, length, ended, deadline);
            });
        });
    }

    private void onExecutor(CompletableFuture<@Nullable Void> ended, Runnable step) {
        try {
            executor.execute(() -> {
                try {
                    step.run();
                } catch (RuntimeException | Error e) { // whatever it is: its LMRs are held until then
                    Unrecoverable.report(e);
                    ended.completeExceptionally(e);
                }
            });
        } catch (RejectedExecutionException e) {
            ended.completeExceptionally(
                    new NodeUnreachableException("node %s stops".formatted(mappers.nameOf(self)), e));
        }
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

    private void watched(
            long asked, int node, Sending sending, CompletableFuture<@Nullable Void> ended, Consumer<byte[]> answered) {
        try {
            localWork.asOwn(asked, () -> watch(node, sending.begin(), ended, answered));
        } catch (NodeUnreachableException e) { // the request was not sent
            ended.completeExceptionally(mappers.isLive(node) ? e : lost(node, e));
        } catch (LiteException e) {
            ended.completeExceptionally(e); // not sent either
        }
    }

    private void watch(
            int node,
            CompletableFuture<byte[]> sent,
            CompletableFuture<@Nullable Void> ended,
            Consumer<byte[]> answered) {
        CompletableFuture<?> unused = sent.whenComplete((reply, error) -> {
            if (error == null) {
                answered.accept(reply);
            } else if (error instanceof NodeUnreachableException
                    || !(error instanceof LiteException)) { // the reply is lost
                awaitQuiet(node, error, ended);
            } else {
                ended.completeExceptionally(error);
            }
        });
    }

    private void awaitQuiet(int node, Throwable error, CompletableFuture<@Nullable Void> ended) {
        LmrUnavailableException lost = lost(node, error);
        try {
            executor.execute(() -> {
                while (!isQuiet(node) && !mappers.isGone(node, Deadline.in(QUIESCE_STEP))) {
                    Polling.sleepNs(PAUSE_NS);
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

    private LmrUnavailableException lost(int node, Throwable error) {
        return new LmrUnavailableException(
                "node %s is lost, or its answer: %s".formatted(mappers.nameOf(node), error.getMessage()), error);
    }

    private void quiesce(int node, int caller, Deadline deadline) {
        ControlMessage request = new ControlMessage().putInt(caller).putDeadline(deadline);
        channel.call(node, ControlKind.QUIESCE, request, deadline);
    }

    private boolean isQuiet(int node) {
        return isQuiet(node, self, Deadline.in(QUIESCE_STEP));
    }

    /**
     * Whether a node has finished all work that {@code caller} requested. False while a former process of the node may still work: it
     * is not fenced, and another one answers; or if the node is not connected.
     */
    boolean isQuiet(int node, int caller, Deadline deadline) {
        return mappers.notifyAll(
                        Set.of(node), "the end of work for node " + caller, asked -> quiesce(asked, caller, deadline))
                .contains(node);
    }
}

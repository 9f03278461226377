package dev.lite.tier.lmr;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Move;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.wire.WireError;
import dev.lite.tier.RemoteWork;
import dev.lite.tier.memory.Layout;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Makes the nodes that hold the bytes of a moving LMR copy them to its new place. It changes no record and frees no
 * memory. Called by the thread that moves the LMR ({@link Moves}), which waits for all copies. Has no state of its
 * own.
 */
final class MoveCopier {
    private final WorkCalls work;
    private final LmrPlaces places;
    private final Executor executor;

    /** @param executor of virtual threads: one for each share that is copied */
    MoveCopier(WorkCalls work, LmrPlaces places, Executor executor) {
        this.work = work;
        this.places = places;
        this.executor = executor;
    }

    /**
     * Makes every node copy the bytes that it holds and that leave it. The nodes work in parallel; each copies piece by
     * piece. Returns or throws only when no thread here copies any more.
     *
     * @param copies receives each copy when it starts, and keeps those that may still be in flight
     * @throws LmrUnavailableException if the move is cancelled, or if a node has another arena now
     */
    void copyAll(
            @Nullable String name,
            Move move,
            LmrRecord from,
            Moves.Destination destination,
            Collection<CompletableFuture<@Nullable Void>> copies,
            Deadline deadline) {
        LmrRecord to = from.moved();
        AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();
        List<CompletableFuture<Void>> shares = new ArrayList<>();
        try {
            for (int share = 0; share < from.shares().size(); share++) {
                int first = share;
                if (to.shares().contains(from.shares().get(share))) {
                    continue; // it stays
                }
                shares.add(CompletableFuture.runAsync(
                        () -> {
                            try {
                                copyShare(move.incarnation(), from, to, first, destination, copies, failure, deadline);
                            } catch (RuntimeException | Error e) {
                                failure.compareAndSet(null, asException(e, from.id()));
                            }
                        },
                        executor));
            }
        } catch (RuntimeException | Error e) { // no thread for it
            failure.compareAndSet(null, asException(e, from.id()));
        }
        // All of them, whatever fails: a copy that still runs would write to memory that has a new owner.
        // Every step has the deadline.
        shares.forEach(CompletableFuture::join);
        RuntimeException failed = failure.get();
        if (failed instanceof LmrFreedException || failed instanceof LmrUnavailableException) {
            // Nobody frees an LMR during its move. A node has another arena now: one that has the bytes, or one that
            // gets them.
            places.requireArenas(from.id(), LmrPlaces.without(from.shares(), to.shares()), name, deadline);
            throw new LmrUnavailableException(
                    "%s stays where it is: %s".formatted(LmrPlaces.describe(from.id(), name), failed.getMessage()),
                    failed);
        }
        if (failed != null) {
            throw failed;
        }
    }

    private static RuntimeException asException(Throwable failure, long id) {
        if (failure instanceof RuntimeException exception) {
            return exception;
        }
        Unrecoverable.report(failure);
        return new LmrUnavailableException("moving LMR %d failed: %s".formatted(id, failure), failure);
    }

    private void copyShare(
            long registration,
            LmrRecord from,
            LmrRecord to,
            int share,
            Moves.Destination destination,
            Collection<CompletableFuture<@Nullable Void>> copies,
            AtomicReference<@Nullable RuntimeException> failure,
            Deadline deadline) {
        long chunkBytes = 1L << from.chunkShift();
        for (int chunk = share; chunk < from.chunks(); chunk += from.shares().size()) {
            long end = Math.min(from.size(), (chunk + 1) * chunkBytes); // chunkBytes is 1 << 62 for one extent
            for (long at = chunk * chunkBytes; at < end; ) {
                if (failure.get() != null) {
                    return;
                }
                requireWanted(destination, from.id());
                long targetBytes = 1L << to.chunkShift();
                long targetLeft = targetBytes - (at & (targetBytes - 1));
                long piece = Math.min(RemoteWork.BYTES_MAX, Math.min(end - at, targetLeft));
                CompletableFuture<@Nullable Void> copy =
                        work.copy(registration, Layout.part(from, at), Layout.part(to, at), piece, deadline);
                copies.add(copy);
                await(copy, from.id(), deadline);
                copies.removeIf(CompletableFuture::isDone);
                at += piece;
            }
        }
    }

    /** Checks that the move should still happen; see {@link Moves.Destination#isWanted}. */
    static void requireWanted(Moves.Destination destination, long id) {
        if (!destination.isWanted()) {
            throw new LmrUnavailableException("the move of LMR %d was cancelled".formatted(id));
        }
    }

    private static void await(CompletableFuture<@Nullable Void> copy, long id, Deadline deadline) {
        try {
            copy.get(deadline.remainingNs(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new LiteTimeoutException(deadline.expired("moving LMR " + id));
        } catch (ExecutionException e) {
            if (e.getCause() instanceof LiteException error) {
                throw WireError.again(error, String.valueOf(error.getMessage()));
            }
            throw new LmrUnavailableException("moving LMR %d failed".formatted(id), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LmrUnavailableException("interrupted while moving LMR " + id, e);
        }
    }
}

package dev.lite.tier.memory;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.Permission;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.os.InFlight;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.session.wire.WireError;
import dev.lite.tier.RemoteWork;
import dev.lite.tier.RemoteWork.Part;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * {@code LT_memset}, {@code LT_memcpy} and {@code LT_memmove} (paper §7.1). They work where the data lies: this process
 * fills and copies mapped memory; for other memory, the node that holds the bytes does the work. Any thread.
 *
 * <p>A long operation runs in rounds. Each round checks the rights and pins its LMRs ({@link Mapping#hold}). So a move,
 * a revocation or a free can take effect only between two rounds.
 */
public final class BulkOperations {
    /** Bytes of one round in mapped memory: a round takes some 50 µs, and a move may have to wait for it. */
    private static final long MAPPED_ROUND_BYTES = BulkTurns.PIECE_BYTES;

    /** A memset or a copy of at most so many bytes takes a few µs, so a move or a free may have to wait for all of it. */
    private static final long SHORT_BYTES_MAX = 64 << 10;

    private BulkOperations() {}

    /**
     * Sets a few bytes of one mapped extent, as fast as a write: in one in-flight slot.
     *
     * @return false, and nothing is set, if they are many, not in one mapped extent, or moving
     */
    static boolean memsetNow(Mapping mapping, boolean low, long offset, long length, byte value) {
        if (mapping.address() == 0 || length > SHORT_BYTES_MAX) {
            return false;
        }
        long slot = InFlight.enter(mapping.number(low));
        try {
            mapping.check(Permission.WRITE.bit(), offset, length);
            long base = mapping.address();
            if (base != 0) {
                RawMemory.fill(base + offset, length, value);
            }
            return base != 0;
        } catch (MappedLmr.Moving paused) {
            return false;
        } finally {
            InFlight.exit(slot);
        }
    }

    /** {@link #memsetNow} for a copy; the ranges may overlap. */
    private static boolean copyNow(
            boolean low, Mapping source, long sourceOffset, Mapping target, long targetOffset, long length) {
        if (source.address() == 0 || target.address() == 0 || length > SHORT_BYTES_MAX) {
            return false;
        }
        long slot = InFlight.enter(source.number(low));
        try {
            source.check(Permission.READ.bit(), sourceOffset, length);
            return target == source
                    ? copyInFlight(source, sourceOffset, target, targetOffset, length)
                    : copyToOther(low, source, sourceOffset, target, targetOffset, length);
        } catch (MappedLmr.Moving paused) {
            return false;
        } finally {
            InFlight.exit(slot);
        }
    }

    private static boolean copyToOther(
            boolean low, Mapping source, long sourceOffset, Mapping target, long targetOffset, long length) {
        long slot = InFlight.enterWithin(target.number(low));
        try {
            return copyInFlight(source, sourceOffset, target, targetOffset, length);
        } finally {
            InFlight.exit(slot);
        }
    }

    private static boolean copyInFlight(
            Mapping source, long sourceOffset, Mapping target, long targetOffset, long length) {
        target.check(Permission.WRITE.bit(), targetOffset, length);
        long from = source.address();
        long to = target.address();
        if (from == 0 || to == 0) {
            return false;
        }
        RawMemory.copy(from + sourceOffset, to + targetOffset, length);
        return true;
    }

    static void memset(Mapping mapping, long offset, long length, byte value, Deadline deadline) {
        if (length <= 0) {
            check(mapping, Permission.WRITE, offset, length, deadline);
        }
        for (long done = 0; done < length; ) {
            mapping.hold(Permission.WRITE.bit(), offset + done, length - done, deadline);
            done += memsetRound(mapping, offset + done, length - done, value, deadline);
        }
    }

    /** Checks a range for which no round runs. Otherwise the first round checks the whole range before it starts. */
    private static void check(Mapping mapping, Permission needed, long offset, long length, Deadline deadline) {
        mapping.hold(needed.bit(), offset, length, deadline);
        mapping.endHold();
    }

    /**
     * Sets bytes of a held mapping and ends the hold, at the latest when the last node has answered. Returns the bytes.
     */
    private static long memsetRound(Mapping mapping, long offset, long length, byte value, Deadline deadline) {
        Map<Integer, List<Run>> remote = new TreeMap<>();
        long done = 0;
        boolean handedOver = false;
        try {
            MappedPlaces where = mapping.placed();
            long mapped = 0;
            long bytes = Math.min(length, RemoteWork.BYTES_MAX);
            for (int runs = 0; done < bytes && runs < RemoteWork.RUNS_MAX && mapped < MAPPED_ROUND_BYTES; runs++) {
                long place = where.place(offset + done);
                long piece = where.pieceLength(offset + done, bytes - done);
                if (Layout.isRemote(place)) {
                    remote.computeIfAbsent(Layout.nodeOf(place), node -> new ArrayList<>())
                            .add(where.run(offset + done, piece));
                } else {
                    piece = Math.min(piece, MAPPED_ROUND_BYTES - mapped);
                    long some = piece;
                    BulkTurns.take(mapping.handleOwner().principal(), () -> RawMemory.fill(place, some, value));
                    mapped += piece;
                }
                done += piece;
            }
            if (!remote.isEmpty()) {
                List<CompletableFuture<@Nullable Void>> works = new ArrayList<>();
                long id = mapping.id();
                remote.forEach((node, runs) -> works.add(mapping.handleOwner()
                        .remoteWork()
                        .memset(node, where.arenaOf(Layout.remotePlace(node, 0)), id, runs, value, deadline)));
                CompletableFuture<?> all = CompletableFuture.allOf(works.toArray(new CompletableFuture<?>[0]));
                handedOver = true;
                mapping.handOver();
                await(
                        all.whenComplete((none, error) -> mapping.endHandedOver()),
                        deadline,
                        () -> "memset of %s on the nodes %s".formatted(mapping, remote.keySet()));
            }
            return done;
        } finally {
            if (!handedOver) {
                mapping.endHold();
            }
        }
    }

    /**
     * {@code LT_memcpy} and {@code LT_memmove}: copies in the order that is safe when the ranges overlap.
     *
     * @param low whether it has low priority
     * @param overlapAllowed whether the ranges may overlap (memmove); if false, an overlap is an error (memcpy)
     */
    public static void copy(
            boolean low,
            Mapping source,
            long sourceOffset,
            Mapping target,
            long targetOffset,
            long length,
            boolean overlapAllowed,
            Deadline deadline) {
        boolean overlap = source.id() == target.id() && Math.abs(sourceOffset - targetOffset) < length;
        boolean refused = overlap && !overlapAllowed;
        if (length <= 0 || refused) {
            check(source, Permission.READ, sourceOffset, length, deadline);
            check(target, Permission.WRITE, targetOffset, length, deadline);
        }
        if (refused) {
            throw new IllegalArgumentException(
                    "memcpy within %s: %d bytes from offset %d and from offset %d overlap; use memmove instead"
                            .formatted(source, length, sourceOffset, targetOffset));
        }
        if (target.needsFabric()) { // then the copy uses the link, wherever the source lies
            Deadline unused = target.admit(low, Permission.WRITE.bit(), targetOffset, length, deadline, 0);
        } else {
            Deadline unused = source.admit(low, Permission.READ.bit(), sourceOffset, length, deadline, 0);
        }
        if (copyNow(low, source, sourceOffset, target, targetOffset, length)) {
            return;
        }
        // Like memmove: copy from the end towards higher offsets, so no byte is overwritten before it is copied.
        boolean backward = overlap && targetOffset > sourceOffset;
        for (long left = length; left > 0; ) {
            long done = length - left;
            holdBoth(source, sourceOffset, target, targetOffset, length, deadline);
            left -= backward
                    ? copyRound(low, source, sourceOffset + left, target, targetOffset + left, left, true, deadline)
                    : copyRound(low, source, sourceOffset + done, target, targetOffset + done, left, false, deadline);
        }
    }

    /** Holds both LMRs. Never holds one while waiting for a move of the other: that could block another move. */
    private static void holdBoth(
            Mapping source, long sourceOffset, Mapping target, long targetOffset, long length, Deadline deadline) {
        while (true) {
            source.hold(Permission.READ.bit(), sourceOffset, length, deadline);
            boolean both = false;
            try {
                both = target.tryHold(Permission.WRITE.bit(), targetOffset, length);
            } finally {
                if (!both) {
                    source.endHold();
                }
            }
            if (both) {
                return;
            }
            target.awaitResumed(deadline);
        }
    }

    /** Copies one piece that is contiguous on both sides and starts (backward: ends) at the offsets. Both are held. */
    private static long copyRound(
            boolean low,
            Mapping source,
            long from,
            Mapping target,
            long to,
            long left,
            boolean backward,
            Deadline deadline) {
        boolean handedOver = false;
        try {
            MappedPlaces sources = source.placed();
            MappedPlaces targets = target.placed();
            long most = Math.min(left, RemoteWork.BYTES_MAX);
            long piece = backward
                    ? targets.pieceLengthBefore(to, sources.pieceLengthBefore(from, most))
                    : targets.pieceLength(to, sources.pieceLength(from, most));
            long sourcePlace = sources.place(backward ? from - piece : from);
            long targetPlace = targets.place(backward ? to - piece : to);
            boolean sourceMapped = !Layout.isRemote(sourcePlace);
            boolean targetMapped = !Layout.isRemote(targetPlace);
            if (sourceMapped && targetMapped) {
                long some = Math.min(piece, MAPPED_ROUND_BYTES);
                long skipped = backward ? piece - some : 0;
                BulkTurns.take(
                        source.handleOwner().principal(),
                        () -> RawMemory.copy(sourcePlace + skipped, targetPlace + skipped, some));
                return some;
            }
            if (sourceMapped) {
                source.owner()
                        .remoteMemory(low)
                        .write(
                                Layout.nodeOf(targetPlace),
                                targets.arenaOf(targetPlace),
                                Layout.offsetOf(targetPlace),
                                RawMemory.all(),
                                sourcePlace,
                                piece,
                                deadline);
            } else if (targetMapped) {
                source.owner()
                        .remoteMemory(low)
                        .read(
                                Layout.nodeOf(sourcePlace),
                                sources.arenaOf(sourcePlace),
                                Layout.offsetOf(sourcePlace),
                                RawMemory.all(),
                                targetPlace,
                                piece,
                                deadline);
            } else {
                Part sourcePart = sources.part(backward ? from - piece : from);
                Part targetPart = targets.part(backward ? to - piece : to);
                CompletableFuture<@Nullable Void> work =
                        source.handleOwner().remoteWork().copy(sourcePart, targetPart, piece, deadline);
                handedOver = true;
                source.handOver();
                target.handOver();
                await(
                        work.whenComplete((none, error) -> {
                            source.endHandedOver();
                            target.endHandedOver();
                        }),
                        deadline,
                        () -> "copying from %s to %s by node %s"
                                .formatted(source, target, source.owner().nodeName(sourcePart.node())));
            }
            return piece;
        } finally {
            if (!handedOver) {
                source.endHold();
                target.endHold();
            }
        }
    }

    private static void await(CompletableFuture<?> work, Deadline deadline, Supplier<String> what) {
        try {
            work.get(deadline.remainingNs(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new LiteTimeoutException(deadline.expired(what.get()));
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() instanceof CompletionException inner ? inner.getCause() : e.getCause();
            if (cause instanceof LiteException error) {
                // Which node failed: its message names only the node for which it waited.
                throw WireError.again(error, "%s: %s".formatted(what.get(), error.getMessage()));
            }
            throw new LmrUnavailableException(what.get() + " failed", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LmrUnavailableException("interrupted during " + what.get(), e);
        }
    }
}

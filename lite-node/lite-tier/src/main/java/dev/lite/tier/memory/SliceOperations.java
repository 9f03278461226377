package dev.lite.tier.memory;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSlice;
import dev.lite.api.Permission;
import dev.lite.os.Segments;
import dev.lite.os.waiting.Deadline;
import dev.lite.session.async.AsyncOperations;
import dev.lite.tier.Access;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Operations of a {@link Mapping} on several slices, and its asynchronous operations. Any thread. */
final class SliceOperations {
    private static final int READ = Permission.READ.bit();
    private static final int WRITE = Permission.WRITE.bit();

    private SliceOperations() {}

    static void read(Mapping mapping, boolean low, List<LmrSlice> slices) {
        readAll(mapping, low, checked(mapping, READ, slices));
    }

    static void write(Mapping mapping, boolean low, List<LmrSlice> slices) {
        writeAll(mapping, low, checked(mapping, WRITE, slices));
    }

    /** With mapped memory, the transfer is complete when this returns. */
    static CompletableFuture<@Nullable Void> readAsync(Mapping mapping, List<LmrSlice> slices) {
        List<LmrSlice> checked = checked(mapping, READ, slices);
        return begin(mapping, READ, checked, () -> readAll(mapping, false, checked));
    }

    /** See {@link #readAsync}. */
    static CompletableFuture<@Nullable Void> writeAsync(Mapping mapping, List<LmrSlice> slices) {
        List<LmrSlice> checked = checked(mapping, WRITE, slices);
        return begin(mapping, WRITE, checked, () -> writeAll(mapping, false, checked));
    }

    /** @param checked all of them share one deadline */
    static void readAll(Mapping mapping, boolean low, List<LmrSlice> checked) {
        Deadline deadline = mapping.deadline();
        for (int index = 0; index < checked.size(); index++) {
            LmrSlice slice = checked.get(index);
            long timeoutNs = index == 0 ? 0 : leftNs(mapping, low, deadline);
            if (low) {
                long length = slice.segment().byteSize();
                mapping.read(true, slice.offset(), slice.segment(), 0, length, timeoutNs);
            } else {
                mapping.read(slice.offset(), slice.segment(), timeoutNs);
            }
        }
    }

    /** @param checked all of them share one deadline */
    static void writeAll(Mapping mapping, boolean low, List<LmrSlice> checked) {
        Deadline deadline = mapping.deadline();
        for (int index = 0; index < checked.size(); index++) {
            LmrSlice slice = checked.get(index);
            long timeoutNs = index == 0 ? 0 : leftNs(mapping, low, deadline);
            if (low) {
                long length = slice.segment().byteSize();
                mapping.write(true, slice.offset(), slice.segment(), 0, length, timeoutNs);
            } else {
                mapping.write(slice.offset(), slice.segment(), timeoutNs);
            }
        }
    }

    /**
     * The time left for a further slice. At least 1: mapped memory needs no time.
     *
     * @throws LiteTimeoutException if the slice would have to wait, and there is no time left
     */
    private static long leftNs(Mapping mapping, boolean low, Deadline deadline) {
        long leftNs = deadline.remainingNs();
        if (leftNs == 0 && (mapping.needsFabric() || mapping.mustWait(low))) {
            throw new LiteTimeoutException(deadline.expired("the further slices of an operation on " + mapping));
        }
        return Math.max(1, leftNs);
    }

    /**
     * @param transfer the same operation, blocking: for slices of several pieces, or if it must wait before the post
     */
    private static CompletableFuture<@Nullable Void> begin(
            Mapping mapping, int needed, List<LmrSlice> checked, Runnable transfer) {
        if (mapping.placed().isDirect() && !mapping.mustWait()) {
            transfer.run();
            return CompletableFuture.completedFuture(null);
        }
        AsyncOperations async = mapping.handleOwner().async();
        AsyncOperations.Operation opened = async.open(mapping.deadline().remaining());
        if (checked.size() != 1 || !tryBegin(mapping, needed, checked.getFirst(), async, opened)) {
            async.run(opened, transfer);
        }
        return opened.future();
    }

    private static boolean tryBegin(
            Mapping mapping, int needed, LmrSlice slice, AsyncOperations async, AsyncOperations.Operation opened) {
        try {
            Access access = needed == WRITE
                    ? Access.write(slice.offset(), slice.segment())
                    : Access.read(slice.offset(), slice.segment());
            return mapping.tryStart(access, 0, async.isFollowed(), failure -> async.end(opened, failure, false));
        } catch (RuntimeException | Error e) { // an Error: the segment is a file that was truncated
            async.end(opened, e, false);
            return true;
        }
    }

    /** Checks all slices before the first transfer starts; copies the list, so that the caller cannot change it. */
    static List<LmrSlice> checked(Mapping mapping, int needed, List<LmrSlice> slices) {
        List<LmrSlice> copy = LmrHandle.checkSlices(slices);
        for (LmrSlice slice : copy) {
            if (needed == READ) {
                Segments.requireWritable("segment of a slice", slice.segment());
            } else {
                Segments.requireReadable("segment of a slice", slice.segment());
            }
            mapping.checkNow(needed, slice.offset(), slice.segment().byteSize());
        }
        return copy;
    }
}

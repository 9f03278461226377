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
        transferAll(mapping, low, checked, SliceOperations::read);
    }

    /** @param checked all of them share one deadline */
    static void writeAll(Mapping mapping, boolean low, List<LmrSlice> checked) {
        transferAll(mapping, low, checked, SliceOperations::write);
    }

    /** A transfer of one slice. */
    @FunctionalInterface
    private interface Transfer {
        void run(Mapping mapping, boolean low, LmrSlice slice, long timeoutNs);
    }

    /**
     * The deadline begins with the first slice that may have to wait: a short copy in mapped memory takes less time
     * than a look at the clock.
     */
    private static void transferAll(Mapping mapping, boolean low, List<LmrSlice> checked, Transfer transfer) {
        @Nullable Deadline deadline = null;
        for (LmrSlice slice : checked) {
            long timeoutNs = 0;
            if (mapping.needsFabric() || mapping.mustWait(low)) {
                if (deadline == null) {
                    deadline = mapping.deadline();
                } else {
                    timeoutNs = leftNs(mapping, deadline);
                }
            }
            transfer.run(mapping, low, slice, timeoutNs);
        }
    }

    private static long leftNs(Mapping mapping, Deadline deadline) {
        long leftNs = deadline.remainingNs();
        if (leftNs == 0) {
            throw new LiteTimeoutException(deadline.expired("the further slices of an operation on " + mapping));
        }
        return leftNs;
    }

    private static void read(Mapping mapping, boolean low, LmrSlice slice, long timeoutNs) {
        if (low) {
            long length = slice.segment().byteSize();
            mapping.read(true, slice.offset(), slice.segment(), 0, length, timeoutNs);
        } else {
            mapping.read(slice.offset(), slice.segment(), timeoutNs);
        }
    }

    private static void write(Mapping mapping, boolean low, LmrSlice slice, long timeoutNs) {
        if (low) {
            long length = slice.segment().byteSize();
            mapping.write(true, slice.offset(), slice.segment(), 0, length, timeoutNs);
        } else {
            mapping.write(slice.offset(), slice.segment(), timeoutNs);
        }
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

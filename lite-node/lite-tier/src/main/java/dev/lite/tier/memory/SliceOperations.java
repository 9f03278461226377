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
        return begin(mapping, READ, checked(mapping, READ, slices), SliceOperations::readAll);
    }

    /** See {@link #readAsync}. */
    static CompletableFuture<@Nullable Void> writeAsync(Mapping mapping, List<LmrSlice> slices) {
        return begin(mapping, WRITE, checked(mapping, WRITE, slices), SliceOperations::writeAll);
    }

    /** @param checked all of them share one deadline */
    static void readAll(Mapping mapping, boolean low, Checked checked) {
        transferAll(mapping, low, checked, SliceOperations::read);
    }

    /** @param checked all of them share one deadline */
    static void writeAll(Mapping mapping, boolean low, Checked checked) {
        transferAll(mapping, low, checked, SliceOperations::write);
    }

    /**
     * The slices of an operation.
     *
     * @param deadline its deadline if it has begun
     */
    record Checked(List<LmrSlice> slices, @Nullable Deadline deadline) {}

    /** A transfer of all slices. */
    @FunctionalInterface
    interface Transfers {
        void run(Mapping mapping, boolean low, Checked checked);
    }

    /** A transfer of one slice. */
    @FunctionalInterface
    private interface Transfer {
        void run(Mapping mapping, boolean low, LmrSlice slice, @Nullable Deadline begun);
    }

    /**
     * The deadline begins with the first slice that may have to wait: a short copy in mapped memory takes less time
     * than a look at the clock.
     */
    private static void transferAll(Mapping mapping, boolean low, Checked checked, Transfer transfer) {
        Deadline deadline = checked.deadline();
        for (LmrSlice slice : checked.slices()) {
            if (mapping.needsFabric() || mapping.mustWait(low)) {
                if (deadline == null) {
                    deadline = mapping.deadline();
                } else if (deadline.passed()) {
                    throw new LiteTimeoutException(deadline.expired("the slices of an operation on " + mapping));
                }
            }
            transfer.run(mapping, low, slice, deadline);
        }
    }

    private static void read(Mapping mapping, boolean low, LmrSlice slice, @Nullable Deadline begun) {
        if (low) {
            long length = slice.segment().byteSize();
            mapping.read(true, slice.offset(), slice.segment(), 0, length, begun, 0);
        } else {
            mapping.read(slice.offset(), slice.segment(), begun);
        }
    }

    private static void write(Mapping mapping, boolean low, LmrSlice slice, @Nullable Deadline begun) {
        if (low) {
            long length = slice.segment().byteSize();
            mapping.write(true, slice.offset(), slice.segment(), 0, length, begun, 0);
        } else {
            mapping.write(slice.offset(), slice.segment(), begun);
        }
    }

    /** @param transfers the same operation, blocking: for slices of several pieces, or if it must wait before the post */
    private static CompletableFuture<@Nullable Void> begin(
            Mapping mapping, int needed, Checked checked, Transfers transfers) {
        if (mapping.placed().isDirect() && !mapping.mustWait()) {
            transfers.run(mapping, false, checked);
            return CompletableFuture.completedFuture(null);
        }
        AsyncOperations async = mapping.handleOwner().async();
        Deadline deadline = mapping.deadline(checked.deadline());
        List<LmrSlice> slices = checked.slices();
        Checked begun = new Checked(slices, deadline);
        Runnable blocking = () -> transfers.run(mapping, false, begun);
        if (slices.size() != 1) {
            return async.begin(blocking, deadline.remaining());
        }
        // Only now: an operation that is counted must end, also without memory for anything else.
        AsyncOperations.Operation opened = async.open(deadline.remaining());
        if (!tryBegin(mapping, needed, slices.getFirst(), deadline, async, opened)) {
            async.run(opened, blocking);
        }
        return opened.future();
    }

    private static boolean tryBegin(
            Mapping mapping,
            int needed,
            LmrSlice slice,
            Deadline deadline,
            AsyncOperations async,
            AsyncOperations.Operation opened) {
        try {
            Access access = needed == WRITE
                    ? Access.write(slice.offset(), slice.segment())
                    : Access.read(slice.offset(), slice.segment());
            return mapping.tryStart(
                    false, access, deadline, 0, async.isFollowed(), failure -> async.end(opened, failure, false));
        } catch (RuntimeException | Error e) { // an Error: the segment is a file that was truncated
            async.end(opened, e, false);
            return true;
        }
    }

    /** Checks all slices before the first transfer starts; copies the list, so that the caller cannot change it. */
    static Checked checked(Mapping mapping, int needed, List<LmrSlice> slices) {
        List<LmrSlice> copy = LmrHandle.checkSlices(slices);
        Deadline deadline = null;
        for (LmrSlice slice : copy) {
            if (needed == READ) {
                Segments.requireWritable("segment of a slice", slice.segment());
            } else {
                Segments.requireReadable("segment of a slice", slice.segment());
            }
            deadline = mapping.checkNow(needed, slice.offset(), slice.segment().byteSize(), deadline, 0);
        }
        return new Checked(copy, deadline);
    }
}

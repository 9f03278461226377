package dev.lite.tier.onesided;

import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.DeadlineSweeper;
import dev.lite.os.waiting.TaskStart;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.async.PollingHelp;
import dev.lite.tier.Access;
import dev.lite.tier.Operation;
import dev.lite.tier.peer.LastRole;
import dev.lite.tier.peer.Peer;
import java.util.UUID;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The accesses of a {@link PostedMemory} that no thread waits for. The polling thread handles their completions, and
 * {@link DeadlineSweeper} ends them after their deadlines. While the device completes posts before they return, the caller
 * polls once itself, so that no other thread must wake.
 *
 * <p>Bound: each has a bounce buffer. Any thread.
 */
final class PendingAccesses {
    private final BounceBuffers buffers;
    private final TransferCounts counts;
    private final Posts posts;
    private final Repeat repeat;
    private final DeadlineSweeper sweeper = new DeadlineSweeper(this::sweep);
    private final LastRole lastRole = new LastRole();

    /** Carries out an access again whose connection broke. */
    @FunctionalInterface
    interface Repeat {
        /**
         * Blocks.
         *
         * @param former the peer of the broken connection
         */
        void transfer(Peer former, UUID arena, Access access, Deadline deadline);
    }

    PendingAccesses(BounceBuffers buffers, TransferCounts counts, Posts posts, Repeat repeat) {
        this.buffers = buffers;
        this.counts = counts;
        this.posts = posts;
        this.repeat = repeat;
    }

    /** See {@link PostedMemory#polling}. */
    PollingHelp polling() {
        return lastRole;
    }

    /**
     * See {@link PostedMemory#tryStart}.
     *
     * @param through posts to the lanes that the access may use
     * @param arena that of the peer
     */
    boolean tryStart(
            Posts through,
            Peer peer,
            UUID arena,
            Access access,
            Deadline deadline,
            boolean soon,
            Consumer<@Nullable RuntimeException> ended) {
        long length = access.length();
        if (length == 0 || length > PostedMemory.BUFFER_BYTES) {
            return false;
        }
        BounceBuffer buffer = buffers.takeIfFree();
        if (buffer == null) {
            return false;
        }
        PendingAccess pending = new PendingAccess(peer, arena, access, deadline, ended);
        boolean posted = false;
        boolean held = false;
        try {
            if (access.operation() == Operation.WRITE) {
                RawMemory.copyFrom(access.local(), 0, buffer.address, length);
            }
            buffer.pending = pending;
            // Before the post: without memory for a timer, nothing is posted whose completion would end it again.
            sweeper.sweepAfter(deadline.endNs());
            lastRole.used(peer.pollRole());
            held = peer.pollRole().takeToPost();
            Post post = through.tryPost(
                    peer,
                    buffer,
                    access.operation(),
                    access.offset(),
                    length,
                    access.first(),
                    access.second(),
                    soon && peer.pollRole().wasMine());
            posted = post == Post.ACCEPTED || post == Post.DONE;
            if (posted) {
                counts.count(peer.fabric(), access.operation(), length);
            }
            if (post == Post.DONE) {
                finish(buffer, pending);
            }
            // A sweep may have ended it at its deadline already. Then it must not start again.
            return posted || !pending.claim();
        } catch (RuntimeException | Error e) {
            if (!posted && pending.claim()) {
                throw e;
            }
            Unrecoverable.report(e);
            return true; // its completion ends it, or a sweep has ended it
        } finally {
            if (!posted) {
                buffer.pending = null;
                buffers.abandon(buffer); // after an Error, nobody knows whether it was posted
            }
            if (held) {
                peer.pollRole().pollAndRelease(pending::isClaimed);
            }
        }
    }

    /** Handles the completion of an access. Does not block. */
    void finish(BounceBuffer buffer, PendingAccess pending) {
        boolean broken = buffer.state.get() != BounceBuffer.DONE;
        boolean inTime = pending.claim();
        RuntimeException failure = null;
        if (inTime && !broken && pending.operation() != Operation.WRITE) {
            try {
                RawMemory.copyTo(buffer.address, pending.access.local(), 0, pending.access.length());
            } catch (RuntimeException e) { // the caller's memory was closed, or is confined to another thread
                failure = e;
            } catch (Error e) { // or a file that was truncated
                failure = failure(pending, "could not be copied to its destination", e);
            }
        }
        buffer.pending = null;
        buffers.release(buffer);
        if (inTime && broken && pending.isRepeatable()) {
            startAgain(pending);
        } else if (inTime) {
            pending.ended.accept(broken ? lost(pending) : failure);
        }
    }

    /** Its connection broke. */
    private RuntimeException lost(PendingAccess pending) {
        try {
            return posts.lost(pending.peer, pending.operation());
        } catch (RuntimeException | Error e) { // nobody else ends it
            return Unrecoverable.undescribed(e);
        }
    }

    /** An error, as the failure of an access: without an end, its caller would wait for ever. */
    private static RuntimeException failure(PendingAccess pending, String what, Error why) {
        if (!(why instanceof InternalError)) { // that of a truncated file concerns only this access
            Unrecoverable.report(why);
        }
        try {
            return new IllegalStateException("a %s %s: %s".formatted(pending.operation(), what, why), why);
        } catch (RuntimeException | Error e) {
            return Unrecoverable.undescribed(e);
        }
    }

    private void startAgain(PendingAccess pending) {
        try {
            TaskStart.virtual("lite-async", () -> goOn(pending));
        } catch (RuntimeException | Error e) { // no memory for a thread, and nobody else ends it
            Unrecoverable.report(e);
            pending.ended.accept(lost(pending));
        }
    }

    /** Continues a transfer after its connection broke. Blocks. */
    private void goOn(PendingAccess pending) {
        RuntimeException failure = null;
        try {
            repeat.transfer(pending.peer, pending.arena, pending.access, pending.deadline);
        } catch (RuntimeException e) {
            failure = e;
        } catch (Error e) { // such as: the caller's memory is a file that was truncated
            failure = failure(pending, "failed when it was repeated", e);
        }
        pending.ended.accept(failure);
    }

    /** Ends the accesses whose deadline has passed. */
    private void sweep() {
        for (BounceBuffer buffer : buffers.all()) {
            PendingAccess pending = buffer.pending;
            if (pending == null || pending.isClaimed()) {
                continue;
            }
            if (!pending.deadline.passed()) {
                sweeper.sweepAfter(pending.deadline.endNs());
                continue;
            }
            // First: without memory for it, a later sweep ends the access.
            RuntimeException late = Posts.late(pending.peer, pending.operation(), pending.deadline);
            if (pending.claim()) {
                pending.ended.accept(late);
            }
        }
    }
}

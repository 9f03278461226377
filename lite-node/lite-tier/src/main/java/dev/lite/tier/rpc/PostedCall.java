package dev.lite.tier.rpc;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcClient;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.Admission;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A call that no thread waits for. The thread that handles its reply ends it, usually the one that polls the fabric.
 *
 * <p>The thread that takes the call out of its slot ends it, and no other one: the thread that handles the reply or the
 * end of the connection, or the one in {@link #abandon}. So exactly one of {@link #replied}, {@link #failed} and a true
 * {@link #abandon} comes, once. None of the first two may block, throw, or run user code. One object per call.
 */
public abstract class PostedCall {
    // Written before the slot's state that lets other threads end the call.
    private @Nullable PostedCalls caller;
    private @Nullable FunctionClient target;
    private volatile @Nullable RpcSlot slot;

    /** Is notified of its end; null: nobody is. Written before the post. */
    private @Nullable Admission admission;

    private long bytes;
    private long begun;

    /** A client whose calls need no thread that waits. */
    public interface Client extends RpcClient {
        /**
         * Posts a call, if that needs no waiting. Never blocks.
         *
         * @param request is copied before this method returns
         * @param replyCapacity the longest reply that the caller takes, in bytes; at most those of the destination
         * @return whether the call was posted; it may have ended already. Otherwise it would have had to wait, and
         *     nothing has happened
         * @throws LiteException if the call was refused; it is not posted then
         */
        boolean tryCall(MemorySegment request, int replyCapacity, long timeoutNs, PostedCall call);
    }

    /** Where a reply of so many bytes is copied to. Must stay valid until the call has ended. */
    protected abstract MemorySegment destination(int length);

    /** The reply of so many bytes is in the destination. */
    protected abstract void replied(int length);

    /** The call failed. */
    protected abstract void failed(RuntimeException why);

    /** Runs a task that may block, soon, on another thread; must not drop it. */
    protected abstract void later(Runnable task);

    /**
     * Gives the call up: its reply will be dropped. Any thread; never blocks.
     *
     * @return whether this thread has ended the call; otherwise it is not posted yet, has ended, or is about to end
     */
    public final boolean abandon() {
        RpcSlot its = slot;
        FunctionClient to = target;
        PostedCalls by = caller;
        if (its == null || to == null || by == null || !its.endPosted(this, RpcSlot.ABANDONED)) {
            return false;
        }
        measured();
        by.abandoned(to);
        return true;
    }

    /** Whether it has a slot, so that other threads may end it; for the posting thread, if the post has thrown. */
    public final boolean hasBegun() {
        return slot != null;
    }

    /** Before the post: whether the posting thread will soon post another call, or poll, so that both may be sent together. */
    protected boolean isSoon() {
        return false;
    }

    /** Names its target, for messages. */
    @Override
    public final String toString() {
        return String.valueOf(target);
    }

    /** The failure of a call that was posted, and has no reply at its deadline. */
    public final LiteTimeoutException late(Duration deadline) {
        return RpcRequests.noReply(Objects.requireNonNull(target, "target"), deadline);
    }

    /** Before the post: measures the call. */
    void measure(Admission its, long requestBytes) {
        admission = its;
        bytes = requestBytes;
        begun = its.begin(false);
    }

    /** The call has ended, whatever its outcome. Once. Does not throw: without memory for that, it is not counted. */
    void measured() {
        Admission its = admission;
        if (its != null) {
            admission = null;
            try {
                its.end(false, bytes, begun);
            } catch (RuntimeException | Error e) { // the call must end all the same
                Unrecoverable.report(e);
            }
        }
    }

    void begin(PostedCalls by, FunctionClient to, RpcSlot in) {
        caller = by;
        target = to;
        slot = in;
    }

    /** The reply is in the slot. The thread owns the slot now. */
    void arrived(RpcSlot its) {
        PostedCalls by = caller;
        FunctionClient to = target;
        if (by != null && to != null) {
            by.deliver(this, to, its);
        }
    }

    /** The connection was lost. The thread owns the slot now. */
    void lost(RpcSlot its) {
        PostedCalls by = caller;
        FunctionClient to = target;
        if (by != null && to != null) {
            by.lost(this, to, its);
        }
    }
}

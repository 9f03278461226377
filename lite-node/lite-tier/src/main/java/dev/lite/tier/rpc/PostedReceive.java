package dev.lite.tier.rpc;

import dev.lite.api.RpcServer;
import dev.lite.tier.channel.ChannelHost;
import org.jspecify.annotations.Nullable;

/**
 * A receive that no thread waits for. The thread that brings the call ends it, usually the one that polls the fabric.
 *
 * <p>The thread that takes the receiver out of its function's queue ends the receive, and no other one: the thread that
 * brings a call, the one that ends the server, or the one in {@link #giveUp}. So exactly one of a {@link #received} that
 * returns true, {@link #failed} and a true {@link #giveUp} comes, once. None of the first two may block, throw, or run
 * user code. One object per receive.
 */
public abstract class PostedReceive {
    private volatile RpcFunction.@Nullable PostedReceiver receiver;

    /** A server that receives without a thread that waits. */
    public interface Server extends RpcServer {
        /** Receives the next call, at once or when it comes. Never blocks. */
        void receive(PostedReceive receive);

        /** Sets the attached application that takes channels to this server. Once. */
        void hostChannels(ChannelHost host);
    }

    /**
     * Takes a call.
     *
     * @return false: the call is dealt with, but not received; the next one is wanted
     */
    protected abstract boolean received(ReceivedCall call);

    /** The receive failed: its server was closed. */
    protected abstract void failed(RuntimeException why);

    /**
     * The receive waits in its function's queue: for the first time, or again after another server was closed, or after a call that it
     * did not receive. Since it was in no queue before, {@link #giveUp} may have returned false meanwhile. Must not block or throw.
     */
    protected abstract void waits();

    /** Runs a task that may block, soon, on another thread; must not drop it. */
    protected abstract void later(Runnable task);

    /**
     * Takes a further call that is already queued, during {@link #received}. Never blocks.
     *
     * @param bytesMax the length of its context and request at most, in bytes
     * @return null if there is none that this receive should take
     */
    protected final @Nullable ReceivedCall further(long bytesMax) {
        RpcFunction.PostedReceiver its = receiver;
        return its == null ? null : its.further(bytesMax);
    }

    /**
     * Gives the receive up. Any thread; never blocks.
     *
     * @return whether this thread has ended the receive; otherwise it has not begun, has ended, or is getting a call
     */
    public final boolean giveUp() {
        RpcFunction.PostedReceiver its = receiver;
        return its != null && its.giveUp();
    }

    /** Whether it has begun, so that it ends; for the thread that began it, if that has thrown. */
    public final boolean hasBegun() {
        return receiver != null;
    }

    void begin(RpcFunction.PostedReceiver its) {
        receiver = its;
    }
}

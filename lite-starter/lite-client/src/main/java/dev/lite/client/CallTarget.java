package dev.lite.client;

import dev.lite.api.LiteException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.client.ClientChannels.OpenChannel;
import dev.lite.os.waiting.TaskStart;
import dev.lite.session.channel.ChannelCaller;
import dev.lite.session.channel.ChannelEndedException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A function or port that this application has opened to call it, with its channel if there is one. The first call asks for a channel
 * and does not wait for it. After a refusal, later calls ask again, less and less often. Any thread.
 *
 * <p>A call {@linkplain #enter enters} before it uses the number or the channel, and {@linkplain #exit exits}
 * when it has ended. So {@link OpenTargets} closes only what nobody uses; a later call opens it anew.
 */
final class CallTarget {
    private static final Logger LOG = LoggerFactory.getLogger(CallTarget.class);
    private static final long PAUSE_NS_MIN = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long PAUSE_NS_MAX = TimeUnit.SECONDS.toNanos(30);
    private static final int CLOSED = Integer.MIN_VALUE;
    private static final Executor ASKERS = task -> TaskStart.virtual("lite-client-channel", task);

    private final Session session;
    private final long id;
    private final String node;
    private final String what;
    private final boolean mayHaveChannel;
    private final Executor askers;
    /** Calls under way, and a thread that asks for a channel; negative: {@link #CLOSED}. */
    private final AtomicInteger users = new AtomicInteger();

    private volatile boolean usedLately = true;
    private final AtomicBoolean asking = new AtomicBoolean();
    private volatile @Nullable OpenChannel channel;
    private volatile long nextNs = System.nanoTime();
    private volatile long pauseNs = PAUSE_NS_MIN; // written by the thread that asks

    /**
     * @param id the number that the node gave it
     * @param node that serves it
     * @param what a call of it, for messages
     */
    CallTarget(Session session, long id, String node, String what, boolean mayHaveChannel) {
        this(session, id, node, what, mayHaveChannel, ASKERS);
    }

    /** @param askers runs what asks for a channel, on a thread of its own */
    CallTarget(Session session, long id, String node, String what, boolean mayHaveChannel, Executor askers) {
        this.askers = askers;
        this.session = session;
        this.id = id;
        this.node = node;
        this.what = what;
        this.mayHaveChannel = mayHaveChannel;
    }

    long id() {
        return id;
    }

    String what() {
        return what;
    }

    /** Begins a use; false: it is closed. */
    boolean enter() {
        if (users.getAndIncrement() >= 0) {
            return true;
        }
        users.getAndDecrement();
        return false;
    }

    /** Ends a use. */
    void exit() {
        if (!usedLately) {
            usedLately = true;
        }
        users.getAndDecrement();
    }

    /**
     * Closes it if it is not in use, and was not since this was last called.
     *
     * @return whether it is closed now; {@link #closeChannel} must follow
     */
    boolean tryClose() {
        if (usedLately) {
            usedLately = false;
            return false;
        }
        return users.compareAndSet(0, CLOSED);
    }

    /** Closes the channel of a closed target. */
    void closeChannel() {
        OpenChannel open = channel;
        if (open != null && forget(open)) {
            session.channels().closeUnused(open);
        }
    }

    /** The channel for a request of this length; null: the call goes through the nodes. */
    @Nullable
    ChannelCaller channelFor(long requestBytes) {
        OpenChannel open = channel;
        if (open != null && !open.caller().isRetired()) {
            return requestBytes <= open.caller().windowBytes() ? open.caller() : null;
        }
        if (open != null && forget(open)) {
            session.channels().closeUnused(open);
        }
        if (mayHaveChannel && System.nanoTime() - nextNs >= 0 && asking.compareAndSet(false, true)) {
            startToAsk();
        }
        return null;
    }

    /** A thread that uses the target calls this. */
    private void startToAsk() {
        users.getAndIncrement();
        boolean started = false;
        try {
            askers.execute(this::ask);
            started = true;
        } finally {
            if (!started) { // no memory for a thread; a later call asks
                asking.set(false);
                exit();
            }
        }
    }

    private void ask() {
        try {
            if (channel == null) { // checked again: another thread may have got one since channelFor() looked
                channel = session.channels().open(id, what);
            }
            pauseNs = PAUSE_NS_MIN;
        } catch (LiteException e) {
            LOG.debug("{}: no channel", what, e);
            pauseNs = Math.min(PAUSE_NS_MAX, 2 * pauseNs);
        } finally {
            nextNs = System.nanoTime() + pauseNs;
            asking.set(false);
            exit();
        }
    }

    /** Whether {@link #failed} may return: the channel ended, or the server was closed before it took the call. */
    static boolean mayGoThroughNodes(RuntimeException why) {
        return why instanceof ChannelEndedException
                || (why instanceof RpcFailedException failed && failed.status() == RpcStatus.NOT_SERVED);
    }

    /**
     * A call failed in its channel. Returns if it was not done, and so may go through the nodes.
     *
     * @param leftNs of the call's deadline, in nanoseconds
     */
    void failed(ChannelCaller caller, RuntimeException why, long leftNs) {
        if (!mayGoThroughNodes(why)) {
            throw why;
        }
        if (why instanceof ChannelEndedException ended) {
            ended(caller, ended, leftNs);
        }
    }

    private void ended(ChannelCaller caller, ChannelEndedException why, long leftNs) {
        OpenChannel open = channel;
        if (open != null && open.caller() == caller && forget(open)) {
            session.channels().closeUnused(open);
        }
        if (!session.isOpen()) {
            throw session.lost();
        }
        if (why.isMaybeDone()) {
            throw lost(caller, why, leftNs);
        }
    }

    /** The exception is that of a call through the nodes: it tells whether the server's node was lost. */
    private LiteException lost(ChannelCaller caller, ChannelEndedException why, long leftNs) {
        if (isNodeLost(caller, leftNs)) {
            return new NodeUnreachableException(
                    "%s: node %s was lost; the call may have been done".formatted(what, node), why);
        }
        return session.isOpen()
                ? new RpcFailedException(RpcStatus.CANCELLED, 0, String.valueOf(why.getMessage()), why)
                : session.lost();
    }

    private boolean isNodeLost(ChannelCaller caller, long leftNs) {
        long beganNs = System.nanoTime();
        if (!session.channels().awaitWord(caller, leftNs)) {
            return false;
        }
        try {
            long timeoutNs = Math.min(RpcCommandPath.leftNs(leftNs, beganNs), session.deadlineNs());
            return !session.isConnected(node, timeoutNs);
        } catch (SessionLostException e) {
            throw e;
        } catch (LiteException e) { // for example, no answer until the call's deadline
            LOG.debug("{}: whether node {} was lost is not known", what, node, e);
            return false;
        }
    }

    private synchronized boolean forget(OpenChannel its) {
        if (!its.equals(channel)) {
            return false;
        }
        nextNs = System.nanoTime() + pauseNs;
        channel = null;
        return true;
    }
}

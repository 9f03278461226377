package dev.lite.fabric.tcp;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.Post;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A connection to one peer: its lanes, and when it is over.
 *
 * <p>It ends once, by {@link #close} or because a lane broke, whichever comes first, and tells the fabric; the poll role then
 * fails what was under way. What the poll role does with it is marked so.
 */
final class TcpEndpoint implements FabricEndpoint {
    /** Reads and writes above this have lanes of their own, so that small ones do not wait behind them. */
    static final int LARGE_BYTES = 16 << 10;

    /**
     * How long {@link #close} waits for the peer's word that it carries nothing out any more. A peer that says nothing by
     * then has not polled for as long, and looks for the reset before it goes on.
     */
    static final long CLOSE_WAIT_NS = 100_000_000;

    private static final byte[] NO_HELLO = {};

    /** Why it ended, and how what was under way ends. */
    record End(String reason, FabricError error) {}

    private final boolean accepted;
    /** Told once. */
    private final Consumer<TcpEndpoint> ended;

    private final AtomicReference<@Nullable End> end = new AtomicReference<>();
    private volatile @Nullable TcpLink link;
    private volatile @Nullable Object attachment;
    private volatile boolean closedHere;

    /** Whether a close has waited for the peer; a later one, such as a handler's for every post that ended, does not again. */
    private volatile boolean cutOver;

    /** Guarded by this object: closers that look at the sockets. */
    private int closers;

    /** Poll role: whether the handler knows it. */
    private boolean announced;

    /** Poll role: whether everything has been said and released. */
    private boolean finished;

    TcpEndpoint(boolean accepted, Consumer<TcpEndpoint> ended) {
        this.accepted = accepted;
        this.ended = ended;
    }

    @Override
    public byte[] hello() {
        var current = link;
        return current == null ? NO_HELLO : current.hello().clone();
    }

    @Override
    public long remoteSize() {
        var current = link;
        return current == null ? 0 : current.remote().bytes();
    }

    @Override
    public long mappedAddress() {
        return 0;
    }

    @Override
    public Post read(long remoteOffset, long localAddress, long length, long context) {
        var current = link;
        if (current == null || end.get() != null) {
            return Post.CLOSED;
        }
        current.checkRange(remoteOffset, length);
        return lane(current, length)
                .outbound
                .post(Frame.READ, remoteOffset, localAddress, (int) length, 0, 0, 0, context);
    }

    @Override
    public Post write(long remoteOffset, long localAddress, long length, long context) {
        var current = link;
        if (current == null || end.get() != null) {
            return Post.CLOSED;
        }
        current.checkRange(remoteOffset, length);
        return lane(current, length)
                .outbound
                .post(Frame.WRITE, remoteOffset, localAddress, (int) length, 0, 0, 0, context);
    }

    @Override
    public Post writeImm(long remoteOffset, long localAddress, long length, int immediate, long context) {
        var current = link;
        if (current == null || end.get() != null) {
            return Post.CLOSED;
        }
        current.checkRange(remoteOffset, length);
        // One lane for all of them: they arrive in the order of their posts.
        return current.lanes()[0].outbound.post(
                Frame.WRITE_IMM, remoteOffset, localAddress, (int) length, immediate, 0, 0, context);
    }

    @Override
    public Post fetchAdd(long remoteOffset, long delta, long resultAddress, long context) {
        var current = link;
        if (current == null || end.get() != null) {
            return Post.CLOSED;
        }
        current.checkWord(remoteOffset);
        return current.lanes()[0].outbound.post(Frame.FETCH_ADD, remoteOffset, resultAddress, 0, 0, delta, 0, context);
    }

    @Override
    public Post compareAndSwap(long remoteOffset, long expected, long value, long resultAddress, long context) {
        var current = link;
        if (current == null || end.get() != null) {
            return Post.CLOSED;
        }
        current.checkWord(remoteOffset);
        return current.lanes()[0].outbound.post(
                Frame.COMPARE_AND_SWAP, remoteOffset, resultAddress, 0, 0, expected, value, context);
    }

    private static TcpLane lane(TcpLink link, long length) {
        var lanes = link.lanes();
        if (length <= LARGE_BYTES || lanes.length == 1) {
            return lanes[0];
        }
        return lanes[1 + (int) (Thread.currentThread().threadId() % (lanes.length - 1))];
    }

    @Override
    public @Nullable Object attachment() {
        return attachment;
    }

    @Override
    public void attach(@Nullable Object attachment) {
        this.attachment = attachment;
    }

    @Override
    public void close() {
        closedHere = true;
        boolean first = end.compareAndSet(null, new End("closed by this node", FabricError.FLUSHED));
        var current = hold();
        if (current != null) {
            try {
                if (!cutOver) {
                    cut(current);
                    cutOver = true;
                }
            } finally {
                letGo();
            }
        }
        if (first) {
            ended.accept(this);
        }
    }

    /**
     * Cuts the lanes. When something that changes the peer's memory is under way, it may lie in a socket of the peer: then this
     * waits, bounded, until the peer answers the end of the lanes by its own end, which it does when it is through.
     */
    private static void cut(TcpLink link) {
        boolean changes = false;
        for (var lane : link.lanes()) {
            lane.cut();
            changes |= lane.outbound.hasChange();
        }
        if (!changes) {
            return;
        }
        for (var lane : link.lanes()) {
            lane.endOutput();
        }
        long deadline = System.nanoTime() + CLOSE_WAIT_NS;
        for (var lane : link.lanes()) {
            boolean unused = lane.awaitPeerEnd(Math.max(0, deadline - System.nanoTime()));
        }
    }

    /** The link, which is not released before {@link #letGo}; null when there is none, or it is released. */
    private synchronized @Nullable TcpLink hold() {
        if (finished || link == null) {
            return null;
        }
        closers++;
        return link;
    }

    private synchronized void letGo() {
        closers--;
        notifyAll();
    }

    /** The peer is gone, cannot be reached, or makes no sense. Any thread. */
    void lost(String reason, FabricError error) {
        if (end.compareAndSet(null, new End(reason, error))) {
            ended.accept(this);
        }
    }

    /** The end, or null. */
    @Nullable
    End end() {
        return end.get();
    }

    /** Whether a peer made it. */
    boolean accepted() {
        return accepted;
    }

    /** Poll role: takes the link; whether the handler is to be told. */
    boolean connected(TcpLink connected) {
        synchronized (this) {
            link = connected;
        }
        announced = !closedHere;
        return announced;
    }

    /** The link; null before it is connected. */
    @Nullable
    TcpLink link() {
        return link;
    }

    /** Poll role: whether {@link #finish} was called. */
    boolean isFinished() {
        return finished;
    }

    /** Poll role: releases everything; whether the handler is to be told of the end. */
    boolean finish() {
        TcpLink current;
        synchronized (this) {
            if (finished) {
                return false;
            }
            finished = true;
            current = link;
            awaitClosers();
        }
        if (current != null) {
            for (var lane : current.lanes()) {
                lane.cut();
                lane.release();
            }
        }
        return announced || !accepted;
    }

    /** Bounded: whoever closes waits no longer than {@link #CLOSE_WAIT_NS}. */
    private synchronized void awaitClosers() {
        boolean interrupted = false;
        while (closers > 0) {
            try {
                wait();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}

package dev.lite.fabric.tcp;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricStream;
import dev.lite.fabric.Post;
import dev.lite.fabric.driver.DriverEndpoint;
import dev.lite.fabric.driver.LaneHandshake;
import dev.lite.fabric.driver.SomeLanes;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** A connection to one peer: its lanes. */
final class TcpEndpoint extends DriverEndpoint<TcpLink> {
    /** Reads and writes above this size use separate lanes, so that small ones do not wait behind them. */
    static final int LARGE_BYTES = 16 << 10;

    /** Guarded by this object: number of closing threads that use the sockets. */
    private int closers;

    /** Guarded by this object: whether the lanes are released. */
    private boolean released;

    private static final int ALL_LANES = -1;

    /** After this time, a peer whose connection was reset has checked for that. */
    private static final long RESET_NS = 2 * Inbound.LOOK_NS;

    /** Held while one thread cuts: others that wait for the same sockets would delay the reset. */
    private final ReentrantLock cutting = new ReentrantLock();

    private final Streams streams;
    private final boolean opensStreams;

    /** @param opensStreams whether this side opens and accepts streams */
    TcpEndpoint(boolean accepted, boolean opensStreams, Streams.Opener opener) {
        super(accepted);
        this.opensStreams = opensStreams;
        streams = new Streams(accepted, opener);
    }

    @Override
    public boolean opensStreams() {
        return opensStreams;
    }

    @Override
    public @Nullable FabricStream openStream(long tag, long timeoutNs) {
        return !opensStreams || link() == null || end() != null ? null : streams.open(tag, timeoutNs);
    }

    @Override
    public void dropStream(long tag) {
        streams.drop(tag);
    }

    /** The streams of this connection. */
    Streams streams() {
        return streams;
    }

    /** Whether a peer that proved who it is opens this stream for this connection. Any thread. */
    boolean isForStream(LaneHandshake.Claim claim) {
        return end() == null && streams.takes(claim);
    }

    @Override
    protected void onEnd() {
        streams.end();
    }

    @Override
    public int laneCount() {
        var current = link();
        return current == null ? 0 : current.lanes().length;
    }

    @Override
    public long mappedAddress() {
        return 0;
    }

    @Override
    public Post read(long remoteOffset, long localAddress, long length, long context) {
        return transfer(false, remoteOffset, localAddress, length, context, 0, ALL_LANES, false);
    }

    @Override
    public Post readSoon(long remoteOffset, long localAddress, long length, long context) {
        return transfer(false, remoteOffset, localAddress, length, context, 0, ALL_LANES, true);
    }

    @Override
    public Post write(long remoteOffset, long localAddress, long length, long context) {
        return transfer(true, remoteOffset, localAddress, length, context, 0, ALL_LANES, false);
    }

    @Override
    public Post writeSoon(long remoteOffset, long localAddress, long length, long context) {
        return transfer(true, remoteOffset, localAddress, length, context, 0, ALL_LANES, true);
    }

    @Override
    public FabricEndpoint onLanes(int first, int count) {
        return link() == null ? this : new SomeLanes(this, this::transfer, first, count);
    }

    private Post transfer(
            boolean write, long remoteOffset, long localAddress, long length, long context, int first, int count) {
        return transfer(write, remoteOffset, localAddress, length, context, first, count, false);
    }

    /** @param count of the lanes from {@code first} on, or {@link #ALL_LANES} */
    private Post transfer(
            boolean write,
            long remoteOffset,
            long localAddress,
            long length,
            long context,
            int first,
            int count,
            boolean soon) {
        var current = link();
        if (current == null || end() != null) {
            return Post.CLOSED;
        }
        current.checkRange(remoteOffset, length, Frame.LENGTH_MAX);
        var lanes = current.lanes();
        int chosen = SomeLanes.choose(length > LARGE_BYTES, first, count == ALL_LANES ? lanes.length : count);
        return lanes[chosen].outbound.post(
                write ? Frame.WRITE : Frame.READ, remoteOffset, localAddress, (int) length, 0, 0, 0, context, soon);
    }

    private Post writeImm(
            long remoteOffset, long localAddress, long length, int immediate, long context, boolean soon) {
        var current = link();
        if (current == null || end() != null) {
            return Post.CLOSED;
        }
        current.checkRange(remoteOffset, length, Frame.LENGTH_MAX);
        // One lane for all immediates: they arrive in the order of their posts.
        return current.lanes()[0].outbound.post(
                Frame.WRITE_IMM, remoteOffset, localAddress, (int) length, immediate, 0, 0, context, soon);
    }

    @Override
    public Post writeImm(long remoteOffset, long localAddress, long length, int immediate, long context) {
        return writeImm(remoteOffset, localAddress, length, immediate, context, false);
    }

    @Override
    public Post writeImmSoon(long remoteOffset, long localAddress, long length, int immediate, long context) {
        return writeImm(remoteOffset, localAddress, length, immediate, context, true);
    }

    private Post atomic(
            int kind, long remoteOffset, long first, long second, long resultAddress, long context, boolean soon) {
        var current = link();
        if (current == null || end() != null) {
            return Post.CLOSED;
        }
        current.checkWord(remoteOffset);
        return current.lanes()[0].outbound.post(kind, remoteOffset, resultAddress, 0, 0, first, second, context, soon);
    }

    @Override
    public Post fetchAdd(long remoteOffset, long delta, long resultAddress, long context) {
        return atomic(Frame.FETCH_ADD, remoteOffset, delta, 0, resultAddress, context, false);
    }

    @Override
    public Post fetchAddSoon(long remoteOffset, long delta, long resultAddress, long context) {
        return atomic(Frame.FETCH_ADD, remoteOffset, delta, 0, resultAddress, context, true);
    }

    @Override
    public Post compareAndSwap(long remoteOffset, long expected, long value, long resultAddress, long context) {
        return atomic(Frame.COMPARE_AND_SWAP, remoteOffset, expected, value, resultAddress, context, false);
    }

    @Override
    public Post compareAndSwapSoon(long remoteOffset, long expected, long value, long resultAddress, long context) {
        return atomic(Frame.COMPARE_AND_SWAP, remoteOffset, expected, value, resultAddress, context, true);
    }

    @Override
    protected void cut(Deadline deadline) {
        var current = hold();
        if (current == null) {
            return;
        }
        try {
            cutting.lock(); // held for a bounded time
            try {
                if (!isCut()) {
                    cut(current, deadline);
                }
            } finally {
                cutting.unlock();
            }
        } finally {
            unhold();
        }
    }

    /** Whether the peer may still execute a post that changes its memory, after the end. Posts nothing more. Poll role. */
    boolean mayChangePeer() {
        var current = link();
        return current != null && !isCut() && cutLanes(current);
    }

    /**
     * Cuts the lanes. If an operation that changes the peer's memory may still lie in a socket of the peer, waits until
     * the peer has executed it and answered the end of the lanes with its own end. If a peer does not answer in time, this
     * resets the connection. Then it waits as long as the peer may take to check for a reset before it changes its memory.
     */
    private static void cut(TcpLink link, Deadline deadline) {
        if (!cutLanes(link)) {
            return;
        }
        for (var lane : link.lanes()) {
            lane.endOutput();
        }
        boolean reset = false;
        for (var lane : link.lanes()) {
            if (!lane.awaitPeerEnd(deadline.remainingNs())) {
                lane.reset();
                reset = true;
            }
        }
        if (reset) {
            long resetNs = System.nanoTime();
            while (System.nanoTime() - resetNs < RESET_NS) {
                Polling.sleepNs(RESET_NS); // returns at once while this thread is interrupted
            }
        }
    }

    /** Cuts the lanes; returns whether the peer may have operations that change its memory. */
    private static boolean cutLanes(TcpLink link) {
        boolean changes = false;
        for (var lane : link.lanes()) {
            lane.cut();
            changes |= lane.outbound.operations.hasChange();
        }
        return changes;
    }

    /** The link, which stays until {@link #unhold}; null if there is none or it is released. */
    private synchronized @Nullable TcpLink hold() {
        var current = link();
        if (released || current == null) {
            return null;
        }
        closers++;
        return current;
    }

    private synchronized void unhold() {
        closers--;
        notifyAll();
    }

    @Override
    protected int flush(FabricHandler handler, int limit) {
        var current = link();
        var end = end();
        if (current == null || end == null) {
            return 0;
        }
        int handed = 0;
        for (var lane : current.lanes()) {
            // From here on, no thread uses local memory any more.
            lane.cut();
            while (handed < limit && !lane.outbound.operations.isEmpty()) {
                handed++;
                handler.failed(this, lane.outbound.operations.end(), end.error());
            }
        }
        return handed;
    }

    /** Poll role: releases the lanes, once. Waits a bounded time for threads in {@link #close}. */
    void release() {
        synchronized (this) {
            released = true;
            awaitClosers();
        }
        var current = link();
        if (current != null) {
            current.release();
        }
    }

    /** The wait is bounded, because a close waits for its peer no longer than {@link #CLOSE_WAIT}. */
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

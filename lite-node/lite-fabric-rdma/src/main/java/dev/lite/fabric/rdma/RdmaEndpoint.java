package dev.lite.fabric.rdma;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.Post;
import dev.lite.fabric.driver.DriverEndpoint;
import dev.lite.fabric.driver.SomeLanes;
import dev.lite.fabric.rdma.verbs.WorkRequest;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;

/** A connection to one peer: its lanes. */
final class RdmaEndpoint extends DriverEndpoint<RdmaLink> {
    /** Reads and writes above this size use separate lanes, so that small ones do not wait behind them. */
    private static final int LARGE_BYTES = 16 << 10;

    private static final int ALL_LANES = -1;

    private static final long CLOSE_POLL_NS = 20_000;

    /** Takes completions from the queue while a close waits for them. */
    private final Runnable takeCompletions;

    // Poll role.
    /** Whether anything arrived from the peer since the last tick. */
    private boolean active;

    private int silentTicks;

    RdmaEndpoint(boolean accepted, Runnable takeCompletions) {
        super(accepted);
        this.takeCompletions = takeCompletions;
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
        return transfer(false, remoteOffset, localAddress, length, context, 0, ALL_LANES);
    }

    @Override
    public Post write(long remoteOffset, long localAddress, long length, long context) {
        return transfer(true, remoteOffset, localAddress, length, context, 0, ALL_LANES);
    }

    @Override
    public FabricEndpoint onLanes(int first, int count) {
        return link() == null ? this : new SomeLanes(this, this::transfer, first, count);
    }

    /** @param count of the lanes from {@code first} on, or {@link #ALL_LANES} */
    private Post transfer(boolean write, long offset, long local, long length, long context, int first, int count) {
        var current = link();
        if (current == null || end() != null) {
            return Post.CLOSED;
        }
        current.checkRange(offset, length, RdmaFabric.OPERATION_BYTES_MAX);
        if (length == 0) {
            return Post.DONE;
        }
        current.own().checkLocal(local, length);
        var lanes = current.lanes();
        int chosen = SomeLanes.choose(length > LARGE_BYTES, first, count == ALL_LANES ? lanes.length : count);
        int opcode = write ? WorkRequest.WRITE : WorkRequest.READ;
        return lanes[chosen].transfer(
                opcode, current.own(), current.remote(), offset, local, (int) length, 0, null, context);
    }

    @Override
    public Post writeImm(long remoteOffset, long localAddress, long length, int immediate, long context) {
        var current = link();
        if (current == null || end() != null) {
            return Post.CLOSED;
        }
        current.checkRange(remoteOffset, length, RdmaFabric.OPERATION_BYTES_MAX);
        if (length > 0) {
            current.own().checkLocal(localAddress, length);
        }
        // One lane for all of them: they arrive in the order of their posts.
        return current.lanes()[0].transfer(
                WorkRequest.WRITE_WITH_IMMEDIATE,
                current.own(),
                current.remote(),
                remoteOffset,
                localAddress,
                (int) length,
                immediate,
                current.mailbox().credits(),
                context);
    }

    @Override
    public Post fetchAdd(long remoteOffset, long delta, long resultAddress, long context) {
        return atomic(Mailbox.FETCH_ADD, remoteOffset, delta, 0, resultAddress, context);
    }

    @Override
    public Post compareAndSwap(long remoteOffset, long expected, long value, long resultAddress, long context) {
        return atomic(Mailbox.COMPARE_AND_SWAP, remoteOffset, expected, value, resultAddress, context);
    }

    private Post atomic(int kind, long offset, long first, long second, long result, long context) {
        var current = link();
        if (current == null || end() != null) {
            return Post.CLOSED;
        }
        current.checkWord(offset);
        return current.mailbox().ask(kind, offset, first, second, result, context);
    }

    /**
     * Refuses posts, then waits until the peer's device acknowledged all outstanding requests, so that nothing can
     * change the peer's memory any more. A live peer's device acknowledges long before the deadline. The answer to an
     * atomic operation may be missing because the peer does not poll. Before it polls again, it checks whether the
     * connection ended, and then executes nothing.
     */
    @Override
    protected void cut(Deadline deadline) {
        var current = link();
        if (current == null) {
            return;
        }
        boolean broken = false;
        for (var lane : current.lanes()) {
            lane.refuse();
            broken |= lane.failure() != null;
        }
        if (!broken) {
            boolean unused = Polling.until(() -> takeUntilDrained(current), deadline, CLOSE_POLL_NS);
        }
        for (var lane : current.lanes()) {
            lane.disconnect();
        }
    }

    private boolean takeUntilDrained(RdmaLink link) {
        if (!isDrained(link)) {
            takeCompletions.run();
        }
        return isDrained(link);
    }

    private static boolean isDrained(RdmaLink link) {
        for (var lane : link.lanes()) {
            if (!lane.isDrained()) {
                return false;
            }
        }
        return true;
    }

    /** Ends the connection: a lane is unusable or the peer is silent. Any thread. */
    void broken(String reason, FabricError error) {
        if (end() == null) {
            var current = link();
            lost(current == null ? reason : "peer %s: %s".formatted(current.peer(), reason), error);
        }
    }

    /** Poll role: records traffic from the peer. */
    void sawTraffic() {
        active = true;
    }

    /** Poll role: counts a tick; returns the number of ticks without traffic, this one included. */
    int tick() {
        silentTicks = active ? 0 : silentTicks + 1;
        active = false;
        return silentTicks;
    }

    @Override
    protected int flush(FabricHandler handler, int limit) {
        var current = link();
        var over = end();
        if (current == null || over == null) {
            return 0;
        }
        current.destroy(); // done already, unless the fabric closes
        int failed = 0;
        for (var lane : current.lanes()) {
            failed += lane.fail(this, handler, over.error(), limit - failed);
        }
        return failed + current.mailbox().fail(this, handler, over.error(), limit - failed);
    }
}

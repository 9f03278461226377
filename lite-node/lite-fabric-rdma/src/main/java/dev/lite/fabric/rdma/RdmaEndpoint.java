package dev.lite.fabric.rdma;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.Post;
import dev.lite.fabric.rdma.verbs.WorkRequest;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A connection to one peer: its lanes, and when it is over.
 *
 * <p>It ends once, by {@link #close} or because a lane broke, whichever comes first, and tells the fabric; the poll role then
 * fails what was under way. What the poll role does with it is marked so.
 */
final class RdmaEndpoint implements FabricEndpoint {
    /** Reads and writes above this have lanes of their own, so that small ones do not wait behind them. */
    private static final int LARGE_BYTES = 16 << 10;

    /**
     * How long {@link #close} waits for the ends of what is under way. The device of a peer that lives acknowledges much sooner; the answer
     * to an atomic step may be missing because the peer does not poll, and then it looks for the end before it goes on.
     */
    static final long CLOSE_WAIT_NS = 100_000_000;

    private static final long CLOSE_LOOK_NS = 20_000;
    private static final byte[] NO_HELLO = {};

    /** Why it ended, and how what was under way ends. */
    record End(String reason, FabricError error) {}

    private final boolean accepted;
    /** Told once. */
    private final Consumer<RdmaEndpoint> ended;

    /** Takes ends from the completion queue while {@link #close} waits for them. */
    private final Runnable lookForEnds;

    private final AtomicReference<@Nullable End> end = new AtomicReference<>();
    private volatile @Nullable RdmaLink link;
    private volatile @Nullable Object attachment;
    private volatile boolean closedHere;

    // Poll role, as all that follows.
    /** Whether the handler knows it. */
    private boolean announced;

    /** Whether its end is being worked on; it gets no link any more. */
    private boolean ending;

    /** Whether everything has been said. */
    private boolean finished;

    /** Whether something came back from the peer since the last tick, and for how many ticks nothing did. */
    private boolean active;

    private int silentTicks;

    RdmaEndpoint(boolean accepted, Consumer<RdmaEndpoint> ended, Runnable lookForEnds) {
        this.accepted = accepted;
        this.ended = ended;
        this.lookForEnds = lookForEnds;
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
        return transfer(WorkRequest.READ, remoteOffset, localAddress, length, context);
    }

    @Override
    public Post write(long remoteOffset, long localAddress, long length, long context) {
        return transfer(WorkRequest.WRITE, remoteOffset, localAddress, length, context);
    }

    private Post transfer(int opcode, long offset, long local, long length, long context) {
        var current = link;
        if (current == null || end.get() != null) {
            return Post.CLOSED;
        }
        current.remote().checkRange(offset, length);
        if (length == 0) {
            return Post.DONE;
        }
        current.own().checkLocal(local, length);
        return lane(current, length)
                .transfer(opcode, current.own(), current.remote(), offset, local, (int) length, 0, null, context);
    }

    @Override
    public Post writeImm(long remoteOffset, long localAddress, long length, int immediate, long context) {
        var current = link;
        if (current == null || end.get() != null) {
            return Post.CLOSED;
        }
        current.remote().checkRange(remoteOffset, length);
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
        var current = link;
        if (current == null || end.get() != null) {
            return Post.CLOSED;
        }
        current.remote().checkWord(offset);
        return current.mailbox().ask(kind, offset, first, second, result, context);
    }

    private static RdmaLane lane(RdmaLink link, long length) {
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
        var current = link;
        if (current != null) {
            cut(current, System.nanoTime() + CLOSE_WAIT_NS);
        }
        if (first) {
            ended.accept(this);
        }
    }

    /**
     * Refuses posts, then waits, bounded, until the peer's device acknowledged what is under way: so nothing is left that could still change
     * the peer's memory. What has no end by then is stopped here.
     */
    void cut(RdmaLink current, long deadlineNs) {
        boolean broken = false;
        for (var lane : current.lanes()) {
            lane.refuse();
            broken |= lane.trouble() != null;
        }
        while (!broken && !isDrained(current) && System.nanoTime() - deadlineNs < 0) {
            lookForEnds.run();
            LockSupport.parkNanos(CLOSE_LOOK_NS);
        }
        for (var lane : current.lanes()) {
            lane.disconnect();
        }
    }

    private static boolean isDrained(RdmaLink link) {
        for (var lane : link.lanes()) {
            if (!lane.isDrained()) {
                return false;
            }
        }
        return true;
    }

    /** The peer is gone, cannot be reached, or makes no sense. Any thread. */
    void lost(String reason, FabricError error) {
        if (end.get() == null && end.compareAndSet(null, new End(describe(reason), error))) {
            ended.accept(this);
        }
    }

    private String describe(String reason) {
        var current = link;
        return current == null ? reason : "peer %s: %s".formatted(current.peer(), reason);
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
    boolean connected(RdmaLink connected) {
        connected.mailbox().connect(connected.remote());
        link = connected;
        announced = !closedHere;
        if (closedHere) {
            // Who closed saw no link; nothing was posted to it.
            cut(connected, System.nanoTime());
        }
        return announced;
    }

    /** The link; null before it is connected. */
    @Nullable
    RdmaLink link() {
        return link;
    }

    /** Poll role: whether the handler knows it, and it has not ended. */
    boolean isHeard() {
        return announced && end.get() == null;
    }

    /** Poll role: from now on {@link #isEnding}. */
    void beginEnding() {
        ending = true;
    }

    /** Poll role: whether its end is being worked on, so that a link comes too late. */
    boolean isEnding() {
        return ending;
    }

    /** Poll role: whether {@link #finish} was called. */
    boolean isFinished() {
        return finished;
    }

    /** Poll role: something came back from the peer. */
    void sawLife() {
        active = true;
    }

    /** Poll role: how many ticks have passed without anything, this one included. */
    int tick() {
        silentTicks = active ? 0 : silentTicks + 1;
        active = false;
        return silentTicks;
    }

    /** Poll role, after its lanes are destroyed: fails what had no end. At most {@code limit}; how many. */
    int fail(FabricHandler handler, int limit) {
        var current = link;
        var over = end.get();
        if (current == null || over == null || finished) {
            return 0;
        }
        int failed = 0;
        for (var lane : current.lanes()) {
            failed += lane.fail(this, handler, over.error(), limit - failed);
        }
        return failed + current.mailbox().fail(this, handler, over.error(), limit - failed);
    }

    /** Poll role: whether the handler is to be told of the end. */
    boolean finish() {
        if (finished) {
            return false;
        }
        finished = true;
        return announced || !accepted;
    }
}

package dev.lite.fabric.driver;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.os.waiting.Deadline;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One side of a connection; the driver adds the posts. {@link Connections} moves it through these states:
 *
 * <pre>
 *  CONNECTING ──link──► OPEN ──► ENDING ──flushed──► FINISHED
 *      └────────────────────────────┘
 * </pre>
 *
 * <p>It ends once, by {@link #close()} or by {@link #lost}, whichever comes first; any thread may do either. Everything marked
 * "poll role" runs on the thread that holds that role.
 *
 * @param <L> the driver's links
 */
public abstract class DriverEndpoint<L extends DriverLink> implements FabricEndpoint {
    /** Upper limit for the time that a close waits for the peer, so that no operation changes the peer's memory afterwards. */
    public static final Duration CLOSE_WAIT = Duration.ofMillis(100);

    private static final byte[] NO_HELLO = {};

    /** Why an endpoint ended, and the error of its outstanding posts. */
    public record End(String reason, FabricError error) {}

    private enum State {
        CONNECTING,
        OPEN,
        ENDING,
        FINISHED
    }

    private final boolean accepted;
    private final AtomicReference<@Nullable End> end = new AtomicReference<>();
    private volatile Runnable ended = () -> {};
    private volatile @Nullable L link;
    private volatile @Nullable Object attachment;
    private volatile boolean closedHere;

    /** Whether a close has cut this endpoint. Later closes, such as a handler's for each failed post, do not wait again. */
    private volatile boolean cut;

    // Poll role.
    private State state = State.CONNECTING;
    private boolean announced;

    /** @param accepted whether the peer made the connection */
    protected DriverEndpoint(boolean accepted) {
        this.accepted = accepted;
    }

    /**
     * Refuses posts, and waits until none of them can touch the peer's memory any more, at most until the deadline. Called by
     * {@link #close()} until one call has returned: by any thread, also when the endpoint has ended already or was never open.
     */
    protected abstract void cut(Deadline deadline);

    /** Called once, by the thread that ended the endpoint, for any reason. Must not block. */
    protected void onEnd() {}

    /**
     * Poll role, after the end: reports outstanding operations to the handler as failed.
     *
     * @return the number of calls of the handler, at most {@code limit}; fewer if nothing is left
     */
    protected abstract int flush(FabricHandler handler, int limit);

    @Override
    public final byte[] hello() {
        L current = link;
        return current == null ? NO_HELLO : current.hello().clone();
    }

    @Override
    public final long remoteSize() {
        L current = link;
        return current == null ? 0 : current.remoteBytes();
    }

    @Override
    public final @Nullable Object attachment() {
        return attachment;
    }

    @Override
    public final void attach(@Nullable Object newAttachment) {
        attachment = newAttachment;
    }

    @Override
    public final void close() {
        close("closed by this node");
    }

    /** Like {@link #close()}, for a reason of the driver's. */
    protected final void close(String reason) {
        close(reason, Deadline.in(CLOSE_WAIT));
    }

    final void close(String reason, Deadline deadline) {
        closedHere = true;
        boolean first = end.compareAndSet(null, new End(reason, FabricError.FLUSHED));
        try {
            if (!cut) {
                cut(deadline);
                cut = true;
            }
        } finally {
            if (first) {
                ends();
            }
        }
    }

    private void ends() {
        try {
            onEnd();
        } finally { // also without memory: else the posts would never end
            ended.run();
        }
    }

    /** Ends the endpoint because the peer is gone, cannot be reached, or violates the protocol. Any thread. */
    public final void lost(String reason, FabricError error) {
        if (end.compareAndSet(null, new End(reason, error))) {
            ends();
        }
    }

    /**
     * {@link #lost(String, FabricError)} by a failure. Without memory to describe it, the endpoint ends all the same:
     * nobody would end it later.
     *
     * @param what the reason without a description
     */
    public final void lost(String what, Throwable why) {
        String reason = what;
        try {
            reason = "%s: %s".formatted(what, why.getMessage());
        } finally {
            lost(reason, FabricError.FLUSHED);
        }
    }

    /** Why the endpoint ended; null if it has not ended. Any thread. */
    public final @Nullable End end() {
        return end.get();
    }

    /** The link; null before the endpoint is open, and kept after its end. Any thread. */
    public final @Nullable L link() {
        return link;
    }

    /** Whether this node closed the endpoint, so that nothing more from the peer is delivered. Any thread. */
    protected final boolean isClosedHere() {
        return closedHere;
    }

    /** Whether {@link #cut} has returned, so that no post can touch the peer's memory any more. Any thread. */
    protected final boolean isCut() {
        return cut;
    }

    /** Poll role: whether the handler knows the connection, and it has not ended. */
    public final boolean isLive() {
        return announced && end.get() == null;
    }

    /** Whether the peer made the connection. */
    public final boolean isAccepted() {
        return accepted;
    }

    /** Sets a task to run once when the endpoint ends. Call before any other thread knows the endpoint. */
    final void whenEnded(Runnable task) {
        ended = task;
    }

    /** Poll role: whether the endpoint can still be opened. */
    final boolean isConnecting() {
        return state == State.CONNECTING;
    }

    /** Poll role: takes the link. Returns whether to call the handler. */
    final boolean open(L made) {
        state = State.OPEN;
        link = made;
        announced = !closedHere;
        return announced;
    }

    /** Poll role: records that the endpoint ended. */
    final void beginEnding() {
        state = State.ENDING;
    }

    /** Poll role: records that everything is flushed. Returns the reason for the handler; null if it must not be called. */
    final @Nullable String finish() {
        if (state == State.FINISHED) {
            return null;
        }
        state = State.FINISHED;
        return announced || !accepted ? Objects.requireNonNull(end.get()).reason() : null;
    }

    /** Poll role: whether {@link #finish} was called. */
    final boolean isFinished() {
        return state == State.FINISHED;
    }
}

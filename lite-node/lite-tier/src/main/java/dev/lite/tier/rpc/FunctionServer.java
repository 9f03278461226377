package dev.lite.tier.rpc;

import dev.lite.api.RpcCall;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.os.Segments;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Durations;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.channel.ChannelHost;
import dev.lite.tier.peer.PollRole;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One session's server of a function. */
final class FunctionServer implements PostedReceive.Server {
    private static final Logger log = LoggerFactory.getLogger(FunctionServer.class);
    private static final Duration FOR_EVER = Duration.ofDays(36_500);
    /** After a failure outside the handler, so that a lasting one does not take a processor. */
    private static final long FAILURE_PAUSE_NS = 10_000_000;

    private final RpcEngine engine;
    private final RpcFunction served;
    private final Consumer<FunctionServer> whenClosed;
    private final boolean handled;
    private final AtomicBoolean closed = new AtomicBoolean();
    /** The attached application of the server; null for an embedded one. */
    private volatile @Nullable ChannelHost host;

    /** @param handled whether a handler takes the calls; then {@link #receive} is not allowed */
    FunctionServer(RpcEngine engine, RpcFunction served, boolean handled, Consumer<FunctionServer> whenClosed) {
        this.handled = handled;
        this.engine = engine;
        this.served = served;
        this.whenClosed = whenClosed;
    }

    @Override
    public String function() {
        return served.name;
    }

    @Override
    public RpcCall receive(Duration deadline) {
        Durations.requirePositive(deadline);
        requireReceivable();
        return next(deadline);
    }

    @Override
    public void receive(PostedReceive receive) {
        requireReceivable();
        served.receive(this, receive);
    }

    @Override
    public void hostChannels(ChannelHost its) {
        host = its;
    }

    /** The attached application that takes channels to this server, or null. */
    @Nullable
    ChannelHost host() {
        return host;
    }

    /** Asks the callers of the channels to this server to close them. Never blocks. */
    void retireChannels(String reason) {
        ChannelHost its = host;
        if (its != null) {
            its.retire(reason);
        }
    }

    private ReceivedCall next(Duration deadline) {
        return served.receive(this, Deadline.in(deadline).endNs(), engine.receiveRole(), false);
    }

    /**
     * Passes each call to an action, until the server is closed. Only that ends the loop: neither what the action throws
     * does, nor an interrupt that it leaves behind. Runs on a thread of its own.
     */
    void forEachCall(Consumer<ReceivedCall> action) {
        while (!closed.get()) {
            try {
                answer(next(FOR_EVER), action);
            } catch (Throwable e) { // also an Error: the next call may succeed
                Unrecoverable.report(e);
                if (closed.get()) {
                    return;
                }
                if (!Thread.interrupted()) {
                    log.error("a call of the {} failed; serving the next", RpcNames.describe(served.name), e);
                    Polling.sleepNs(FAILURE_PAUSE_NS);
                }
            }
        }
    }

    private void answer(ReceivedCall call, Consumer<ReceivedCall> action) {
        try {
            action.accept(call);
        } catch (Throwable e) {
            String why = UnsentReplies.text(e);
            engine.execute(() -> UnsentReplies.fail(() -> call.fail(RpcStatus.UNKNOWN, 0, why), () -> false));
            throw e;
        }
    }

    @Override
    public RpcCall replyAndReceive(RpcCall call, MemorySegment reply, Duration deadline) {
        Objects.requireNonNull(call, "call");
        Segments.requireReadable("reply", reply);
        Durations.requirePositive(deadline);
        requireReceivable();
        if (!(call instanceof ReceivedCall received)) {
            throw new IllegalArgumentException(
                    "the server of the %s did not receive this call".formatted(RpcNames.describe(served.name)));
        }
        PollRole role = engine.receiveRole();
        // With a call in the queue, this thread replies again soon: the replies until then go out together.
        boolean held = served.hasQueued() ? received.replySoon(reply) : received.replyAndTake(reply, role);
        return served.receive(this, Deadline.in(deadline).endNs(), role, held);
    }

    private void requireReceivable() {
        requireOpen();
        if (handled) {
            throw new IllegalStateException("the function \"%s\" has a handler".formatted(served.name));
        }
    }

    void requireOpen() {
        if (closed.get()) {
            throw new SessionLostException("the server of the %s was closed".formatted(RpcNames.describe(served.name)));
        }
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            engine.close(this, served);
            retireChannels("the server of the %s was closed".formatted(RpcNames.describe(served.name)));
            whenClosed.accept(this);
        }
    }

    @Override
    public String toString() {
        return "RpcServer[%s]".formatted(served.name);
    }
}

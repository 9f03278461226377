package dev.lite.tier.rpc;

import dev.lite.api.RpcCall;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.peer.PollRole;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** One session's server of a function. */
final class FunctionServer implements RpcServer {
    private final RpcEngine engine;
    private final RpcFunction served;
    private final Consumer<FunctionServer> whenClosed;
    private final boolean handled;
    private final AtomicBoolean closed = new AtomicBoolean();

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
        requireReceivable();
        return next(deadline);
    }

    /** Like {@link #receive}, but also allowed for a handler. */
    ReceivedCall next(Duration deadline) {
        return served.receive(this, Deadline.in(deadline).endNs(), engine.receiveRole(), false);
    }

    @Override
    public RpcCall replyAndReceive(RpcCall call, MemorySegment reply, Duration deadline) {
        requireReceivable();
        if (!(call instanceof ReceivedCall received)) {
            throw new IllegalArgumentException("this node did not receive the call: " + call);
        }
        PollRole role = engine.receiveRole();
        boolean held = received.replyAndTake(reply, role);
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
            throw new SessionLostException("the server of the function \"%s\" was closed".formatted(served.name));
        }
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            engine.close(served);
            whenClosed.accept(this);
        }
    }

    @Override
    public String toString() {
        return "RpcServer[%s]".formatted(served.name);
    }
}

package dev.lite.client.reattach;

import dev.lite.api.Lite;
import dev.lite.api.LtMemory;
import dev.lite.api.LtRpc;
import dev.lite.api.LtSync;
import dev.lite.api.NodeInfo;
import dev.lite.api.SessionLostException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * LITE for an application that outlives its node: an injected {@link LtMemory}, the handles, locks, barriers and bound functions
 * that came from it go on when the node went away and came back. Calls wait for it up to their deadline; then they get
 * {@link dev.lite.api.NodeUnreachableException}.
 *
 * <p>What was under way when the session was lost is done again where that does no harm ({@link ReattachingHandle}); other calls
 * throw {@link SessionLostException}, and whether they took place is not known. What was held is lost with the session: locks pass
 * on, anonymous LMRs of this application are freed.
 *
 * <p>Any thread.
 */
public final class ReattachingLite implements Lite {
    private final SessionKeeper keeper;
    private final LtMemory memory;
    private final LtRpc rpc;
    private final LtSync sync;
    private final CompletableFuture<String> ended = new CompletableFuture<>();

    /** Attaches; throws what {@link Lite#attach} throws. */
    public ReattachingLite(AttachOptions options, Function<AttachOptions, Lite> attach) {
        keeper = new SessionKeeper(options, attach);
        memory = new ReattachingMemory(keeper);
        rpc = new ReattachingRpc(keeper);
        sync = new ReattachingSync(keeper);
    }

    @Override
    public LtMemory memory() {
        return memory;
    }

    @Override
    public LtRpc rpc() {
        return rpc;
    }

    @Override
    public LtSync sync() {
        return sync;
    }

    @Override
    public String nodeName() {
        return keeper.session().nodeName();
    }

    @Override
    public List<NodeInfo> nodes() {
        return keeper.openAtOnce().nodes(); // people and probes look here
    }

    @Override
    public boolean isOpen() {
        return keeper.isOpen();
    }

    @Override
    public void close() {
        keeper.close();
        ended.completeAsync(
                () -> "the application closed it",
                work -> Thread.ofVirtual().name("lite-ended").start(work));
    }

    @Override
    public CompletionStage<String> ended() {
        return ended.minimalCompletionStage();
    }

    /** The session of now, open or lost. */
    public Lite session() {
        return keeper.session();
    }
}

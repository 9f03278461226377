package dev.lite.client.reattach;

import dev.lite.api.Lite;
import dev.lite.api.LiteStatistics;
import dev.lite.api.LtMemory;
import dev.lite.api.LtRpc;
import dev.lite.api.LtSync;
import dev.lite.api.NodeInfo;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A {@link Lite} that attaches again after the loss of its node. {@link AttachOptions#withReattach} says what callers see.
 * Applications get one from {@link Lite#attach}. Any thread.
 */
public final class ReattachingLite implements Lite {
    private final Duration deadline;
    private final SessionKeeper keeper;
    private final LtMemory memory;
    private final LtRpc rpc;
    private final LtSync sync;
    private final CompletableFuture<String> ended = new CompletableFuture<>();

    private ReattachingLite(AttachOptions options, Function<AttachOptions, Lite> attach) {
        deadline = options.deadline();
        keeper = new SessionKeeper(options, attach);
        memory = new ReattachingMemory(keeper);
        rpc = new ReattachingRpc(keeper);
        sync = new ReattachingSync(keeper);
    }

    /**
     * Attaches, unless the options are lazy; throws what {@code attach} throws.
     *
     * @param attach opens one session without re-attachment; called again after each loss
     */
    public static ReattachingLite attach(AttachOptions options, Function<AttachOptions, Lite> attach) {
        return new ReattachingLite(options, attach);
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
        return keeper.nodeName();
    }

    @Override
    public Duration deadline() {
        return deadline;
    }

    /** Makes one attempt to attach if the session is lost: people and health checks call this, and want an answer soon. */
    @Override
    public List<NodeInfo> nodes() {
        return keeper.openNow().nodes();
    }

    /** After a loss, what the next session counts and holds; until it is there, that of the lost one. Locks stay until they are closed. */
    @Override
    public LiteStatistics statistics() {
        return keeper.statistics();
    }

    @Override
    public void setSampler(LiteStatistics.@Nullable Sampler sampler) {
        keeper.setSampler(sampler);
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

    @Override
    public String toString() {
        return "ReattachingLite[%s]".formatted(keeper);
    }
}

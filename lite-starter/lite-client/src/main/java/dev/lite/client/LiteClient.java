package dev.lite.client;

import dev.lite.api.Lite;
import dev.lite.api.LiteStatistics;
import dev.lite.api.LtMemory;
import dev.lite.api.LtRpc;
import dev.lite.api.LtSync;
import dev.lite.api.NodeInfo;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Durations;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A session with this host's node over a Unix socket and shared memory. Any thread. After the loss of its node every call throws {@link
 * dev.lite.api.SessionLostException}; see {@link AttachOptions#withReattach} for sessions that attach again.
 */
public final class LiteClient implements Lite {
    private final Session session;
    private final ClientMemory memory;
    private final ClientRpc rpc;
    private final ClientSync sync;

    private LiteClient(Session session) {
        this.session = session;
        memory = new ClientMemory(session);
        rpc = new ClientRpc(session);
        sync = new ClientSync(session);
    }

    /** {@link Lite#attach} with this configuration and without re-attachment. */
    public static LiteClient attach(AttachOptions options, ClientConfig config) {
        return attach(options, config, new ClientCounts(), Deadline.ofCall(options.deadline()));
    }

    /**
     * @param counts of the former sessions of the same application, or new
     * @param deadline of the attach; that of the options is for the operations of the session
     */
    static LiteClient attach(AttachOptions options, ClientConfig config, ClientCounts counts, Deadline deadline) {
        return new LiteClient(Attacher.attach(options, config, counts, deadline));
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
        return session.nodeName();
    }

    @Override
    public Duration deadline() {
        return Duration.ofNanos(session.deadlineNs());
    }

    @Override
    public List<NodeInfo> nodes() {
        return session.nodes(session.deadlineNs());
    }

    @Override
    public LiteStatistics statistics() {
        return session.isOpen()
                ? session.use().statistics(session.counts())
                : new SessionUse().statistics(session.counts());
    }

    @Override
    public void setSampler(LiteStatistics.@Nullable Sampler sampler) {
        session.counts().setSampler(sampler);
    }

    @Override
    public boolean isOpen() {
        return session.isOpen();
    }

    @Override
    public CompletionStage<String> ended() {
        return session.ended();
    }

    @Override
    public void close() {
        session.detach();
    }

    @Override
    public String toString() {
        return "LiteClient[node=%s, socket=%s, %s]"
                .formatted(session.nodeName(), session.socket(), isOpen() ? "open" : "closed");
    }

    /** The deadline in nanoseconds; one that is too long for the arithmetic is cut to about 146 years. */
    static long toNanos(Duration deadline) {
        Durations.requirePositive(deadline);
        // Half of the range, so that the sum with nanoTime can be compared.
        long longest = Long.MAX_VALUE / 2;
        return deadline.compareTo(Duration.ofNanos(longest)) < 0 ? deadline.toNanos() : longest;
    }
}

package dev.lite.boot.resilience;

import dev.lite.api.Lite;
import dev.lite.api.LiteStatistics;
import dev.lite.api.LtMemory;
import dev.lite.api.LtRpc;
import dev.lite.api.LtSync;
import dev.lite.api.NodeInfo;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** A session whose calls and memory are protected. Owns the session that it wraps. Any thread. */
final class ResilientLite implements Lite {

    private final Lite lite;
    private final LtMemory memory;
    private final LtRpc rpc;

    ResilientLite(
            Lite lite,
            String circuitBreakerPrefix,
            LiteResilienceProperties properties,
            Resilience.Registries registries) {
        this.lite = lite;
        Resilience resilience = new Resilience(lite, circuitBreakerPrefix, properties, registries);
        memory = properties.retry().enabled() ? new ResilientMemory(lite.memory(), resilience) : lite.memory();
        boolean calls = properties.circuitBreaker().enabled()
                || properties.bulkhead().enabled()
                || properties.rateLimiter().enabled();
        rpc = calls ? new ResilientRpc(lite.rpc(), resilience) : lite.rpc();
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
        return lite.sync();
    }

    @Override
    public String nodeName() {
        return lite.nodeName();
    }

    @Override
    public Duration deadline() {
        return lite.deadline();
    }

    @Override
    public List<NodeInfo> nodes() {
        return lite.nodes();
    }

    @Override
    public LiteStatistics statistics() {
        return lite.statistics();
    }

    @Override
    public void setSampler(LiteStatistics.@Nullable Sampler sampler) {
        lite.setSampler(sampler);
    }

    @Override
    public boolean isOpen() {
        return lite.isOpen();
    }

    @Override
    public CompletionStage<String> ended() {
        return lite.ended();
    }

    @Override
    public void close() {
        lite.close();
    }

    @Override
    public String toString() {
        return lite.toString();
    }
}

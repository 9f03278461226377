package dev.lite.node;

import dev.lite.tier.node.LiteNode;
import dev.lite.tier.qos.QosStatus;
import dev.lite.tier.qos.QosStatus.ClassStatus;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import org.springframework.stereotype.Component;

/** The metrics of quality of service, {@code lite.node.qos.*}, by priority. They count only while there is a policy. */
@Component
class QosMetrics implements MeterBinder {
    private final LiteNode node;

    QosMetrics(LiteNode node) {
        this.node = node;
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        Map.<String, Function<QosStatus, ClassStatus>>of("high", QosStatus::high, "low", QosStatus::low)
                .forEach((priority, its) -> bind(registry, priority, its));
        load(registry, "fabric", QosStatus::highLoad);
        load(registry, "mapped", QosStatus::highMappedLoad);
        limit(registry, "fabric", QosStatus::lowBytesPerSecondNow);
        limit(registry, "mapped", QosStatus::lowMappedBytesPerSecondNow);
    }

    private QosStatus status() {
        return node.qos().status();
    }

    private void bind(MeterRegistry registry, String priority, Function<QosStatus, ClassStatus> its) {
        counter("lite.node.qos.operations", "Operations", its, ClassStatus::operations)
                .tag("priority", priority)
                .register(registry);
        counter("lite.node.qos.operation.size", "Data of these operations", its, ClassStatus::bytes)
                .baseUnit("bytes")
                .tag("priority", priority)
                .register(registry);
        counter(
                        "lite.node.qos.refused",
                        "Operations that got no permits until their deadlines",
                        its,
                        ClassStatus::refused)
                .tag("priority", priority)
                .register(registry);
        timer("lite.node.qos.queued", "Waits for permits", its, ClassStatus::queued, ClassStatus::queuedNs)
                .tag("priority", priority)
                .register(registry);
        timer("lite.node.qos.round.trip", "Round trips", its, ClassStatus::operations, ClassStatus::roundTripNs)
                .tag("priority", priority)
                .register(registry);
        Gauge.builder(
                        "lite.node.qos.sessions",
                        this,
                        metrics -> its.apply(metrics.status()).sessions())
                .description("Sessions")
                .tag("priority", priority)
                .register(registry);
    }

    private void load(MeterRegistry registry, String of, ToDoubleFunction<QosStatus> value) {
        Gauge.builder("lite.node.qos.load", this, metrics -> value.applyAsDouble(metrics.status()))
                .description("Operations of high priority under way on average")
                .tag("of", of)
                .register(registry);
    }

    private void limit(MeterRegistry registry, String of, ToLongFunction<QosStatus> value) {
        Gauge.builder("lite.node.qos.low.limit", this, metrics -> value.applyAsLong(metrics.status()))
                .description("Limit of low priority; 0 while it is not limited")
                .baseUnit("bytes per second")
                .tag("of", of)
                .register(registry);
    }

    private FunctionCounter.Builder<QosMetrics> counter(
            String name, String description, Function<QosStatus, ClassStatus> its, ToLongFunction<ClassStatus> value) {
        return FunctionCounter.builder(name, this, metrics -> value.applyAsLong(its.apply(metrics.status())))
                .description(description);
    }

    private FunctionTimer.Builder<QosMetrics> timer(
            String name,
            String description,
            Function<QosStatus, ClassStatus> its,
            ToLongFunction<ClassStatus> count,
            ToLongFunction<ClassStatus> nanos) {
        return FunctionTimer.builder(
                        name,
                        this,
                        metrics -> count.applyAsLong(its.apply(metrics.status())),
                        metrics -> nanos.applyAsLong(its.apply(metrics.status())),
                        TimeUnit.NANOSECONDS)
                .description(description);
    }
}

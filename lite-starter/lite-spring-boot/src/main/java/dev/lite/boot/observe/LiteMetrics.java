package dev.lite.boot.observe;

import dev.lite.api.Lite;
import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * The metrics of an application's sessions, {@code lite.client.*}. Those of several sessions have the tag
 * {@code session}. A session keeps its counts also without metrics; a reading adds them up. The timer records
 * about one operation of 256, so metrics do not slow down the others.
 */
public final class LiteMetrics implements MeterBinder {

    private static final Count NONE = new Count(0, 0);

    private final List<Measured> sessions;

    /** Measures this session, which the caller still owns and closes. */
    public LiteMetrics(Lite lite) {
        this(Map.of("lite", lite));
    }

    /**
     * Measures these sessions, which the caller still owns and closes.
     *
     * @param sessions by name; if there are several, the tag that {@link LiteMetrics} describes has it
     */
    public LiteMetrics(Map<String, Lite> sessions) {
        boolean several = sessions.size() > 1;
        this.sessions = sessions.entrySet().stream()
                .map(named ->
                        new Measured(named.getValue(), several ? Tags.of("session", named.getKey()) : Tags.empty()))
                .toList();
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        sessions.forEach(session -> session.bindTo(registry));
    }

    private static final class Measured {
        private final Lite lite;
        private final Tags tags;
        private final List<Map<Kind, Timer>> timers = new CopyOnWriteArrayList<>();

        Measured(Lite lite, Tags tags) {
            this.lite = lite;
            this.tags = tags;
        }

        void bindTo(MeterRegistry registry) {
            Map<Kind, Timer> sampled = new EnumMap<>(Kind.class);
            for (Kind kind : Kind.values()) {
                counter(registry, kind, "lite.client.operations", "Operations", null, Count::operations);
                counter(registry, kind, "lite.client.operation.size", "Data of operations", "bytes", Count::bytes);
                sampled.put(
                        kind,
                        Timer.builder("lite.client.operation.sampled")
                                .description("Durations of one operation of 256")
                                .tags(tags)
                                .tag("kind", kind.tag())
                                .register(registry));
            }
            gauge(
                    registry,
                    "lite.client.open",
                    "1 while the session is connected to its node",
                    its -> its.isOpen() ? 1 : 0);
            gauge(
                    registry,
                    "lite.client.handles",
                    "Mapped handles",
                    its -> its.statistics().handles());
            gauge(
                    registry,
                    "lite.client.locks",
                    "Held locks",
                    its -> its.statistics().locks().size());
            gauge(
                    registry,
                    "lite.client.functions",
                    "Served functions",
                    its -> its.statistics().functions().size());
            timers.add(sampled);
            lite.setSampler(this::sampled);
        }

        private void sampled(Kind kind, long nanos) {
            for (Map<Kind, Timer> of : timers) {
                Timer timer = of.get(kind);
                if (timer != null) {
                    timer.record(Duration.ofNanos(nanos));
                }
            }
        }

        private void counter(
                MeterRegistry registry,
                Kind kind,
                String name,
                String description,
                @Nullable String unit,
                ToDoubleFunction<Count> value) {
            FunctionCounter.builder(
                            name,
                            lite,
                            its -> value.applyAsDouble(
                                    its.statistics().operations().getOrDefault(kind, NONE)))
                    .description(description)
                    .baseUnit(unit)
                    .tags(tags)
                    .tag("kind", kind.tag())
                    .register(registry);
        }

        private void gauge(MeterRegistry registry, String name, String description, ToDoubleFunction<Lite> value) {
            Gauge.builder(name, lite, value).tags(tags).description(description).register(registry);
        }
    }
}

package dev.lite.manager.web;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.Leadership;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.function.ToDoubleFunction;
import org.springframework.stereotype.Component;

/** Gauges without tags of this manager's view of the cluster. They read cached state only. */
@Component
class ManagerMetrics implements MeterBinder {
    private final ClusterDirectory directory;
    private final Leadership leadership;
    private final OrderWatch orders;
    private final EventStreams events;

    ManagerMetrics(ClusterDirectory directory, Leadership leadership, OrderWatch orders, EventStreams events) {
        this.directory = directory;
        this.leadership = leadership;
        this.orders = orders;
        this.events = events;
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        gauge(registry, "lite.manager.leads", "1 while this manager leads", its -> its.leadership.isLeader() ? 1 : 0);
        gauge(
                registry,
                "lite.manager.directory.available",
                "1 while ZooKeeper is reachable",
                its -> its.directory.isAvailable() ? 1 : 0);
        gauge(
                registry,
                "lite.manager.nodes",
                "Registered nodes",
                its -> its.directory.nodes().size());
        gauge(
                registry,
                "lite.manager.epoch",
                "Number of the current epoch",
                its -> its.directory.epoch().number());
        gauge(
                registry,
                "lite.manager.removals.pending",
                "Removed nodes that are not fenced yet",
                its -> its.directory.epoch().pending().size());
        gauge(registry, "lite.manager.orders.open", "Orders neither done nor failed", its -> its.orders.open());
        gauge(
                registry,
                "lite.manager.events.subscribers",
                "Subscribers to server-sent events",
                its -> its.events.subscribers());
    }

    private void gauge(
            MeterRegistry registry, String name, String description, ToDoubleFunction<ManagerMetrics> value) {
        Gauge.builder(name, this, value).description(description).register(registry);
    }
}

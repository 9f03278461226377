package dev.lite.node;

import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.peer.FabricSelection;
import dev.lite.tier.session.SessionServer;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import org.springframework.stereotype.Component;

/** The node's metrics, {@code lite.node.*}. The node counts anyway; a reading sums up, and costs nothing in between. */
@Component
class NodeMetrics implements MeterBinder {
    private static final Count NONE = new Count(0, 0);
    private static final List<Kind> TRANSFERS = List.of(Kind.READ, Kind.WRITE, Kind.ATOMIC);
    private static final String NO_FABRIC = "none";

    private final LiteNode node;
    private final SessionServer sessions;
    private final ClusterDirectory directory;
    private final FabricSelection fabrics;

    NodeMetrics(LiteNode node, SessionServer sessions, ClusterDirectory directory, FabricSelection fabrics) {
        this.node = node;
        this.sessions = sessions;
        this.directory = directory;
        this.fabrics = fabrics;
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        bindMemory(registry);
        bindOperations(registry);
        bindCluster(registry);
        bindWaiting(registry);
    }

    private void bindMemory(MeterRegistry registry) {
        bytes(registry, "used", its -> its.node.figures().usage().allocatedBytes());
        bytes(registry, "free", its -> its.node.figures().usage().freeBytes());
        gauge(
                registry,
                "lite.node.arena.extents",
                "Allocated extents",
                its -> its.node.figures().usage().extents());
        gauge(
                registry,
                "lite.node.lmrs.mapped",
                "LMRs with a handle at this node",
                its -> its.node.figures().usage().mappedLmrs());
        gauge(
                registry,
                "lite.node.handles",
                "Mapped handles of all sessions",
                its -> its.node.figures().usage().handles());
        gauge(
                registry,
                "lite.node.reclaims",
                "LMRs whose memory is not free yet",
                its -> its.node.figures().usage().reclaiming());
        gauge(
                registry,
                "lite.node.sessions",
                "Attached applications",
                its -> its.sessions.sessions().size());
    }

    private void bytes(MeterRegistry registry, String state, ToDoubleFunction<NodeMetrics> value) {
        Gauge.builder("lite.node.arena", this, value)
                .description("Memory of the arena")
                .baseUnit("bytes")
                .tag("state", state)
                .register(registry);
    }

    private void bindOperations(MeterRegistry registry) {
        for (Kind kind : Kind.values()) {
            counter(
                            "lite.node.operations",
                            "Operations of applications",
                            its -> its.asked(kind).operations())
                    .tag("kind", kind.tag())
                    .register(registry);
            counter(
                            "lite.node.operation.size",
                            "Data of these operations",
                            its -> its.asked(kind).bytes())
                    .baseUnit("bytes")
                    .tag("kind", kind.tag())
                    .register(registry);
        }
        for (String fabric : fabrics.names()) {
            for (Kind kind : TRANSFERS) {
                counter(
                                "lite.node.transfers",
                                "Transfers to and from other nodes",
                                its -> its.transferred(fabric, kind).operations())
                        .tag("fabric", fabric)
                        .tag("kind", kind.tag())
                        .register(registry);
                counter(
                                "lite.node.transfer.size",
                                "Data of these transfers",
                                its -> its.transferred(fabric, kind).bytes())
                        .baseUnit("bytes")
                        .tag("fabric", fabric)
                        .tag("kind", kind.tag())
                        .register(registry);
            }
        }
        counter(
                        "lite.node.transfers.repeated",
                        "Transfers repeated after the loss of a connection",
                        its -> its.node.figures().repeatedTransfers())
                .register(registry);
    }

    private Count asked(Kind kind) {
        return sessions.operations().getOrDefault(kind, NONE);
    }

    private Count transferred(String fabric, Kind kind) {
        return node.figures().transfers().getOrDefault(fabric, Map.of()).getOrDefault(kind, NONE);
    }

    private void bindCluster(MeterRegistry registry) {
        for (String fabric : fabrics.names()) {
            links(registry, fabric);
        }
        links(registry, NO_FABRIC);
        gauge(
                registry,
                "lite.node.epoch",
                "Number of the epoch that this node knows",
                its -> its.directory.epoch().number());
        gauge(
                registry,
                "lite.node.directory.available",
                "1 while ZooKeeper is reachable",
                its -> its.directory.isAvailable() ? 1 : 0);
        gauge(
                registry,
                "lite.node.draining",
                "1 while the node takes no new memory",
                its -> its.node.isDraining() ? 1 : 0);
    }

    private void links(MeterRegistry registry, String fabric) {
        Gauge.builder(
                        "lite.node.links",
                        this,
                        its -> its.node.nodes().stream()
                                .filter(peer -> peer.fabric().equals(fabric))
                                .count())
                .description("Other nodes by the fabric to them; \"none\" are not connected")
                .tag("fabric", fabric)
                .register(registry);
    }

    private void bindWaiting(MeterRegistry registry) {
        counter(
                        "lite.node.lock.waits",
                        "Waits for locks",
                        its -> its.node.figures().syncStats().waits())
                .register(registry);
        counter(
                        "lite.node.standby.wakeups",
                        "Wake-ups of the thread that polls when no caller does",
                        its -> its.node.figures().standbyWakeups())
                .register(registry);
        gauge(
                registry,
                "lite.node.rpc.queued",
                "Calls that no server has received yet",
                its -> its.node.figures().queuedCalls());
        Gauge.builder("lite.node.rpc.memory", this, its -> its.node.figures().rpcMemoryBytes())
                .description("Memory of the arena that calls use")
                .baseUnit("bytes")
                .register(registry);
    }

    private void gauge(MeterRegistry registry, String name, String description, ToDoubleFunction<NodeMetrics> value) {
        Gauge.builder(name, this, value).description(description).register(registry);
    }

    private FunctionCounter.Builder<NodeMetrics> counter(
            String name, String description, ToDoubleFunction<NodeMetrics> value) {
        return FunctionCounter.builder(name, this, value).description(description);
    }
}

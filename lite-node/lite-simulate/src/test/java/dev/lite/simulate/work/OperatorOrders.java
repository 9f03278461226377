package dev.lite.simulate.work;

import dev.lite.cluster.Order;
import dev.lite.cluster.Orders;
import dev.lite.cluster.SimulatedDirectory;
import dev.lite.cluster.SimulatedStore;
import dev.lite.simulate.tier.Cluster;
import dev.lite.simulate.tier.Mix;
import dev.lite.simulate.tier.Pause;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Moves that an operator orders. Each ends; and nobody takes an order from a node that began it while it was registered as another
 * incarnation than it said, and still is.
 */
final class OperatorOrders implements Part {
    private static final Duration DEADLINE = Duration.ofSeconds(1);
    private static final long ENDED_NS = 20_000_000_000L;

    private final Cluster cluster;
    private final Map<Long, Order> running = new HashMap<>();
    private final Set<Long> stale = new HashSet<>();

    OperatorOrders(Cluster cluster) {
        this.cluster = cluster;
        cluster.store().whenOrdersChange(this::changed);
    }

    private void changed(List<Order> orders) {
        SimulatedStore store = cluster.store();
        for (Order order : orders) {
            Order before = running.get(order.id());
            if (before != null && order.state() == Order.State.RUNNING) {
                String former = String.valueOf(before.executor());
                boolean another = !former.equals(order.executor());
                if (another && stale.contains(order.id()) && store.isRegistered(former)) {
                    cluster.rule()
                            .broken(
                                    "order %d was begun by %s as incarnation %d, which it was not any more, and %s, incarnation %d, takes it"
                                            .formatted(
                                                    order.id(),
                                                    former,
                                                    before.incarnation(),
                                                    order.executor(),
                                                    order.incarnation()));
                }
            }
            if (order.state() == Order.State.RUNNING) {
                String executor = String.valueOf(order.executor());
                if (!order.equals(before)
                        && store.isRegistered(executor)
                        && store.lastIncarnation(executor) > order.incarnation()) {
                    stale.add(order.id());
                }
                running.put(order.id(), order);
            }
        }
    }

    @Override
    public int weight(Mix mix) {
        return mix == Mix.SESSIONS ? 3 : mix == Mix.RETURNS ? 1 : 0;
    }

    @Override
    public void step(App app) {
        SimulatedDirectory directory = app.member.directory();
        if (directory != null) {
            Order order = new Orders(directory).move("words" + app.random.nextInt(3), app.anyNode(), DEADLINE);
            app.note("orders " + order.id());
        }
    }

    @Override
    public void settle(App any) {
        SimulatedDirectory directory = any.member.directory();
        if (directory == null) {
            return;
        }
        boolean ended = Pause.until(
                cluster.simulation(),
                ENDED_NS,
                () -> new Orders(directory).read(DEADLINE).open().isEmpty());
        if (!ended) {
            cluster.rule()
                    .broken("orders are not done after %d s: %s"
                            .formatted(
                                    ENDED_NS / 1_000_000_000,
                                    new Orders(directory).read(DEADLINE).open()));
        }
    }
}

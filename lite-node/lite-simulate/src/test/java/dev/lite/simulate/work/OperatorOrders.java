package dev.lite.simulate.work;

import dev.lite.cluster.Order;
import dev.lite.cluster.Orders;
import dev.lite.cluster.SimulatedDirectory;
import dev.lite.cluster.SimulatedStore;
import dev.lite.simulate.tier.Cluster;
import dev.lite.simulate.tier.Member;
import dev.lite.simulate.tier.Mix;
import dev.lite.simulate.tier.Pause;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Moves that an operator orders. Each ends; and nobody takes an order from a node whose last incarnation was not fenced when the taker
 * read the incarnations.
 */
final class OperatorOrders implements Part {
    private static final Duration DEADLINE = Duration.ofSeconds(1);
    private static final long ENDED_NS = 20_000_000_000L;

    private final Cluster cluster;
    private final Map<Long, Order> running = new HashMap<>();

    OperatorOrders(Cluster cluster) {
        this.cluster = cluster;
        cluster.store().whenOrdersChange(this::changed);
    }

    private void changed(List<Order> orders) {
        for (Order order : orders) {
            if (order.state() == Order.State.RUNNING) {
                Order before = running.put(order.id(), order);
                if (before != null && !Objects.equals(before.executor(), order.executor())) {
                    taken(order, String.valueOf(before.executor()), String.valueOf(order.executor()));
                }
            }
        }
    }

    private void taken(Order order, String from, String by) {
        SimulatedStore store = cluster.store();
        long last = store.lastIncarnation(from);
        boolean fenced = store.epoch().removals().stream()
                .anyMatch(removal -> removal.fenced() && removal.name().equals(from) && removal.incarnation() >= last);
        SimulatedDirectory taker = cluster.members().stream()
                .filter(member -> member.name().equals(by))
                .findFirst()
                .map(Member::directory)
                .orElse(null);
        long readNs = taker == null ? 1 : taker.incarnationsReadNs(); // 0: never
        if (!fenced && (readNs == 0 || readNs > store.registeredNs(from))) {
            cluster.rule()
                    .broken("order %d is taken from %s, whose incarnation %d is not fenced, by %s, incarnation %d"
                            .formatted(order.id(), from, last, by, order.incarnation()));
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

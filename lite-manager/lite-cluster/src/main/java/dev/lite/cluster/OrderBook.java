package dev.lite.cluster;

import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * All orders of a cluster and the nodes that are to be left alone, as one record: so one read shows all of it, and an order
 * and what it means for a node change together.
 *
 * @param nextId the number of the next order
 * @param orders in the order of their ids; at most {@link Orders#OPEN_MAX} open and {@link Orders#ENDED_KEPT} others
 * @param draining the names of the nodes that are drained, or are to be
 */
public record OrderBook(long nextId, List<Order> orders, SortedSet<String> draining) {
    /** Nothing was ever ordered. */
    static final OrderBook EMPTY = new OrderBook(1, List.of(), new TreeSet<>());

    /** Copies. */
    public OrderBook {
        orders = List.copyOf(orders);
        draining = java.util.Collections.unmodifiableSortedSet(new TreeSet<>(draining));
    }

    /** The order of this number; empty when there is none any more. */
    public Optional<Order> find(long id) {
        return orders.stream().filter(order -> order.id() == id).findFirst();
    }

    /** Those that are neither done nor failed. */
    public List<Order> open() {
        return orders.stream().filter(order -> !order.state().isFinal()).toList();
    }
}

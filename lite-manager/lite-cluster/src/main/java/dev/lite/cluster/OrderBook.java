package dev.lite.cluster;

import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * All orders of a cluster and the nodes being drained, in one record: one read returns everything, and an order and its
 * effect on a node change together.
 *
 * @param nextId the number of the next order
 * @param orders the open ones in the order of their ids, the ended ones in that of their ends; at most {@link
 *     Orders#OPEN_MAX} open and {@link Orders#ENDED_KEPT} ended ones
 * @param draining the names of the nodes that are drained or marked for draining
 */
public record OrderBook(long nextId, List<Order> orders, SortedSet<String> draining) {
    /** No orders. */
    static final OrderBook EMPTY = new OrderBook(1, List.of(), new TreeSet<>());

    /** Makes defensive copies. */
    public OrderBook {
        orders = List.copyOf(orders);
        draining = java.util.Collections.unmodifiableSortedSet(new TreeSet<>(draining));
    }

    /** The order with this id; empty when it is not kept. */
    public Optional<Order> find(long id) {
        return orders.stream().filter(order -> order.id() == id).findFirst();
    }

    /** Whether the order with this id has ended and is kept. */
    boolean hasEnded(long id) {
        return find(id).filter(order -> order.state().isFinal()).isPresent();
    }

    /** The orders that are neither done nor failed. */
    public List<Order> open() {
        return orders.stream().filter(order -> !order.state().isFinal()).toList();
    }
}

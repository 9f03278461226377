package dev.lite.manager.web;

import dev.lite.api.LmrSpec;
import dev.lite.api.NodeUnreachableException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.Order;
import dev.lite.cluster.Orders;
import io.swagger.v3.oas.annotations.Operation;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * Changes. Each request only writes an order into the directory, and the nodes execute it. So any manager can accept it,
 * leading or not, and may die afterwards. Repeating a request is safe: it returns the order that is already open.
 */
@RestController
@RequestMapping("/api")
class OrderController {
    private final ClusterDirectory directory;
    private final Orders orders;
    private final RecordReader records;
    private final Duration deadline;

    OrderController(ClusterDirectory directory, RecordReader records, WebProperties properties) {
        this.directory = directory;
        orders = new Orders(directory);
        this.records = records;
        deadline = properties.requestDeadline();
    }

    /**
     * Parameters of a drain.
     *
     * @param leave whether the node's process ends when it is empty; default: false
     */
    record DrainRequest(@Nullable Boolean leave) {}

    /**
     * Parameters of a move.
     *
     * @param node the name of the target node
     */
    record MoveRequest(@Nullable String node) {}

    /** The body of a request without parameters: absent or {@code {}}. Any field is refused as unknown. */
    record NoParameters() {}

    @Operation(summary = "The open orders and the last ended ones, in the order of their ids")
    @GetMapping("/orders")
    List<OrderView> orders() {
        return orders.list(deadline).stream().map(OrderView::of).toList();
    }

    @Operation(summary = "An order and its progress")
    @GetMapping("/orders/{id}")
    OrderView order(@PathVariable long id) {
        return orders.find(id, deadline)
                .map(OrderView::of)
                .orElseThrow(() -> Refusals.notFound("order", Long.toString(id)));
    }

    @Operation(
            summary = "Cancel an open order",
            description =
                    "What was moved stays moved, and every LMR is whole at its old or its new place. After a cancelled drain the node is used again.")
    @DeleteMapping("/orders/{id}")
    OrderView cancel(@PathVariable long id) {
        Order order = orders.cancel(id, deadline).orElseThrow(() -> Refusals.notFound("order", Long.toString(id)));
        // A repetition finds the order cancelled.
        if (order.state() != Order.State.FAILED || !order.note().equals(Orders.CANCELLED)) {
            throw Refusals.conflict("order", id, "order %d has ended already: it is %s".formatted(id, order.state()));
        }
        return OrderView.of(order);
    }

    @Operation(summary = "Move everything away from a node and place nothing new there")
    @PostMapping("/nodes/{name}/drain")
    ResponseEntity<OrderView> drain(
            @PathVariable String name, @RequestBody(required = false) @Nullable DrainRequest how) {
        boolean leave = how != null && Boolean.TRUE.equals(how.leave());
        return accepted("node", name, () -> live(name, () -> orders.drain(name, leave, deadline)));
    }

    @Operation(summary = "Use a drained node again")
    @PostMapping("/nodes/{name}/undrain")
    ResponseEntity<OrderView> undrain(
            @PathVariable String name, @RequestBody(required = false) @Nullable NoParameters none) {
        return accepted("node", name, () -> orders.undrain(name, deadline));
    }

    @Operation(summary = "Move a named LMR to a node; write a slash in its name as %2F")
    @PostMapping("/lmrs/{name}/move")
    ResponseEntity<OrderView> move(@PathVariable String name, @RequestBody MoveRequest request) {
        String node = request.node();
        if (node == null) {
            throw Refusals.badValue("node", "missing", "the name of a node");
        }
        return accepted("name", name, () -> {
            LmrSpec.checkName(name);
            if (records.read(name).isEmpty()) {
                throw Refusals.notFound("LMR", name);
            }
            return live(node, () -> orders.move(name, node, deadline));
        });
    }

    @Operation(summary = "Move LMRs from fuller to emptier nodes")
    @PostMapping("/rebalance")
    ResponseEntity<OrderView> rebalance(@RequestBody(required = false) @Nullable NoParameters none) {
        return accepted("cluster", "", () -> orders.rebalance(deadline));
    }

    @Operation(summary = "Free a node's orphans: memory whose LMR no longer exists")
    @PostMapping("/orphans/{node}/free")
    ResponseEntity<OrderView> freeOrphans(
            @PathVariable String node, @RequestBody(required = false) @Nullable NoParameters none) {
        return accepted("node", node, () -> live(node, () -> orders.freeOrphans(node, deadline)));
    }

    /** A node that is away is no node that does not exist. */
    private Order live(String node, Supplier<Order> act) {
        try {
            return act.get();
        } catch (NodeUnreachableException e) {
            throw Refusals.ofNodes(List.of(node), directory, e);
        }
    }

    private static ResponseEntity<OrderView> accepted(String parameter, String value, Supplier<Order> act) {
        Order order;
        try {
            order = act.get();
        } catch (IllegalArgumentException e) { // an invalid name
            throw Refusals.badValue(parameter, value, e);
        }
        return ResponseEntity.accepted()
                .location(URI.create("/api/orders/" + order.id()))
                .body(OrderView.of(order));
    }
}

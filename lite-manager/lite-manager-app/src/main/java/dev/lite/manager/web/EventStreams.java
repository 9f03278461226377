package dev.lite.manager.web;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.DirectoryListener;
import dev.lite.cluster.Epoch;
import dev.lite.cluster.Leadership;
import dev.lite.cluster.NodeRecord;
import dev.lite.cluster.OrderBook;
import io.swagger.v3.oas.annotations.Operation;
import io.swagger.v3.oas.annotations.Parameter;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;

/**
 * Publishes changes in the cluster as server-sent events. Each stream has its own virtual thread, the only one that writes
 * to it, so a slow client blocks only that thread.
 */
@RestController
class EventStreams implements DirectoryListener, SmartLifecycle {
    private static final Logger log = LoggerFactory.getLogger(EventStreams.class);
    private static final int NAME_BYTES = 6;

    private final ClusterDirectory directory;
    private final Leadership leadership;
    private final OrderWatch orders;
    private final EventLog events;
    private final Duration heartbeat;
    private final Duration lifetime;
    private volatile boolean running;
    private List<NodeRecord> before = List.of(); // confined to the directory's thread

    EventStreams(
            ClusterDirectory directory,
            Leadership leadership,
            OrderWatch orders,
            QosWatch qos,
            Audit audit,
            WebProperties properties) {
        this.directory = directory;
        this.leadership = leadership;
        this.orders = orders;
        byte[] name = new byte[NAME_BYTES];
        new SecureRandom().nextBytes(name);
        events = new EventLog(HexFormat.of().formatHex(name), properties.events());
        heartbeat = properties.events().heartbeat();
        lifetime = properties.events().lifetime();
        availabilityChanged(directory.isAvailable());
        directory.addListener(this);
        leadership.addListener(leads -> leadershipChanged());
        leadership.addParticipantsListener(participants -> leadershipChanged());
        leadershipChanged();
        orders.addListener(this::ordersChanged);
        orders.start();
        qos.start(revision -> events.publish("qos", revision, revision));
        audit.setListener(entry -> events.publish("audit", entry, null));
    }

    @Operation(
            summary = "Server-sent events",
            description =
                    "Starts with an event \"state\" (the latest of every kind), or with the events missed since Last-Event-ID. Then: \"nodes\", \"epoch\", \"orders\", \"qos\", \"leadership\", \"directory\", \"audit\" (a request that may change something). Reconnect when the stream ends.")
    @GetMapping(path = "/api/events", produces = MediaType.TEXT_EVENT_STREAM_VALUE)
    SseEmitter events(
            @Parameter(description = "The id of the last received event")
                    @RequestHeader(name = "Last-Event-ID", required = false)
                    @Nullable
                    String lastEventId,
            HttpServletRequest request) {
        EventQueue queue = events.subscribe(lastEventId, request.getRemoteAddr());
        SseEmitter stream = new SseEmitter(lifetime.toMillis());
        stream.onTimeout(stream::complete);
        stream.onError(cause -> events.unsubscribe(queue));
        stream.onCompletion(() -> events.unsubscribe(queue));
        Thread unused = Thread.ofVirtual().name("lite-events").start(() -> write(queue, stream));
        return stream;
    }

    private void write(EventQueue queue, SseEmitter stream) {
        try {
            while (!queue.isDone()) {
                Optional<ClusterEvent> next = queue.poll(heartbeat);
                stream.send(next.map(this::toMessage)
                        .orElseGet(() -> SseEmitter.event().comment("alive")));
            }
            stream.complete();
        } catch (IOException | IllegalStateException e) {
            log.debug("a client of the event stream disconnected: {}", e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            events.unsubscribe(queue);
        }
    }

    private SseEmitter.SseEventBuilder toMessage(ClusterEvent event) {
        return SseEmitter.event().id(events.idOf(event)).name(event.type()).data(event.data());
    }

    /** Synchronized, like {@link #ordersChanged}, so that the state has the latest nodes and drains. */
    @Override
    public synchronized void nodesChanged(List<NodeRecord> nodes) {
        List<NodeRecord> old = before;
        before = nodes;
        events.publish("nodes", new NodesChange(without(nodes, old), without(old, nodes)), views(nodes));
    }

    /** A node that registered again with a new incarnation has both left and joined. */
    private List<NodeView> without(List<NodeRecord> nodes, List<NodeRecord> others) {
        return views(nodes.stream().filter(node -> !others.contains(node)).toList());
    }

    private List<NodeView> views(List<NodeRecord> nodes) {
        return nodes.stream().map(node -> NodeView.of(node, orders.draining())).toList();
    }

    @Override
    public void epochChanged(Epoch epoch) {
        events.publish(
                "epoch", new EpochChange(epoch.number(), epoch.members().size(), epoch.pending()), EpochView.of(epoch));
    }

    private synchronized void ordersChanged(@Nullable OrderBook former, OrderBook now) {
        List<OrderView> changed = now.orders().stream()
                .filter(order -> former == null || !former.orders().contains(order))
                .map(OrderView::of)
                .toList();
        List<OrderView> open = now.open().stream().map(OrderView::of).toList();
        events.replaceState("nodes", views(directory.nodes())); // they say whether they are drained
        events.publish("orders", new OrdersChange(changed, now.draining()), new OrdersState(open, now.draining()));
    }

    @Override
    public void availabilityChanged(boolean available) {
        Map<String, Boolean> change = Map.of("available", available);
        events.publish("directory", change, change);
    }

    /** Synchronized, so that the last event has the latest state. */
    private synchronized void leadershipChanged() {
        LeadershipChange change = new LeadershipChange(leadership.isLeader(), leadership.participants());
        events.publish("leadership", change, change);
    }

    /**
     * The registered nodes changed. Contains only the differences, since there may be a thousand nodes.
     *
     * @param joined the new nodes
     * @param left the nodes that left
     */
    record NodesChange(List<NodeView> joined, List<NodeView> left) {}

    /**
     * The epoch changed; {@code /api/epochs} returns all of it.
     *
     * @param number its number
     * @param members the number of members
     * @param pending the removed nodes to which some node may still have a link
     */
    record EpochChange(long number, int members, List<Epoch.Removal> pending) {}

    /**
     * The managers or their leader changed.
     *
     * @param leads whether this manager leads
     * @param managers the participants of the election, the leader first
     */
    record LeadershipChange(boolean leads, List<String> managers) {}

    /**
     * Orders were submitted or changed.
     *
     * @param changed their current state
     * @param draining the names of the nodes that are drained or marked for draining
     */
    record OrdersChange(List<OrderView> changed, Set<String> draining) {}

    /**
     * The orders, in the first event of a stream.
     *
     * @param open the orders that are neither done nor failed
     * @param draining the names of the nodes that are drained or marked for draining
     */
    record OrdersState(List<OrderView> open, Set<String> draining) {}

    /** The number of open streams. */
    int subscribers() {
        return events.subscribers();
    }

    @Override
    public void start() {
        running = true;
    }

    /** Stops before the web server, which would otherwise wait for the streams to end. */
    @Override
    public void stop() {
        events.close();
        running = false;
    }

    @Override
    public boolean isRunning() {
        return running;
    }
}

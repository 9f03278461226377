package dev.lite.manager.web;

import dev.lite.os.HostNetwork;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The most recent events, and the subscribers to new ones. Bounded: the history length × the size of an event, which is a
 * node, an epoch's number and pending removals, or an order (about 2 KB); the queues hold the same events.
 *
 * <p>An event's id is this log's name, a hyphen and the event's number, so that another manager, or this one after a
 * restart, does not mistake it for its own. A subscriber without an id in the history first gets one event {@code state}
 * with the latest value of each kind, and then new events. Any thread; nothing here blocks.
 */
final class EventLog {
    private static final String STATE = "state";

    private final String name;
    private static final int DIVIDED_MIN = 8;

    private final WebProperties.Events limits;

    // Guarded by this.
    private final ArrayDeque<ClusterEvent> history = new ArrayDeque<>();
    private final Map<String, Object> state = new TreeMap<>();
    /** With the networks of their clients. */
    private final Map<EventQueue, String> subscribers = new HashMap<>();

    private long last;
    private boolean closed;

    /** @param name identifies this log; must not contain a hyphen */
    EventLog(String name, WebProperties.Events limits) {
        this.name = name;
        this.limits = limits;
    }

    /**
     * Sends an event to all subscribers. A subscriber with a full queue is disconnected: it gets what is in its queue, then
     * its stream ends.
     *
     * @param current the state of this kind for new subscribers; null to keep the previous one
     */
    synchronized void publish(String type, Object data, @Nullable Object current) {
        last++;
        ClusterEvent event = new ClusterEvent(last, type, data);
        if (history.size() == limits.history()) {
            history.removeFirst();
        }
        history.addLast(event);
        if (current != null) {
            state.put(type, current);
        }
        subscribers.keySet().removeIf(subscriber -> !subscriber.offer(event));
    }

    /** Replaces the state of a kind for new subscribers, without an event; does nothing before its first event. */
    synchronized void replaceState(String type, Object current) {
        state.replace(type, current);
    }

    /**
     * Adds a subscriber.
     *
     * @param lastEventId the id of the last event it received; null for none
     * @param address that of its client. A {@linkplain HostNetwork host} may have as many as it leaves to others, unless the limit
     *     is below {@value #DIVIDED_MIN}
     * @throws org.springframework.web.ErrorResponseException when the limit of subscribers is reached
     */
    synchronized EventQueue subscribe(@Nullable String lastEventId, String address) {
        String client = HostNetwork.of(address);
        int max = limits.subscribers();
        int left = max - subscribers.size();
        long own = subscribers.values().stream().filter(client::equals).count();
        if (left <= 0) {
            throw Refusals.full("subscribers of events", subscribers.size(), max);
        }
        if (max >= DIVIDED_MIN && own >= left) {
            throw Refusals.full("subscribers of events of one client", own, left);
        }
        EventQueue queue = new EventQueue(limits.queue(), missed(lastEventId));
        if (closed) {
            queue.end();
        } else {
            subscribers.put(queue, client);
        }
        return queue;
    }

    private List<ClusterEvent> missed(@Nullable String lastEventId) {
        long seen = numberOf(lastEventId);
        boolean known = seen >= last - history.size() && seen <= last && seen >= 0;
        return known
                ? history.stream().filter(event -> event.number() > seen).toList()
                : List.of(new ClusterEvent(last, STATE, Map.copyOf(state)));
    }

    /** Returns -1 for an id of another log. */
    private long numberOf(@Nullable String id) {
        if (id == null || !id.startsWith(name + "-")) {
            return -1;
        }
        try {
            return Long.parseLong(id.substring(name.length() + 1));
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    String idOf(ClusterEvent event) {
        return name + "-" + event.number();
    }

    synchronized void unsubscribe(EventQueue queue) {
        subscribers.remove(queue);
        queue.end();
    }

    synchronized int subscribers() {
        return subscribers.size();
    }

    /** Ends all streams; streams opened later end immediately. */
    synchronized void close() {
        closed = true;
        subscribers.keySet().forEach(EventQueue::end);
        subscribers.clear();
    }
}

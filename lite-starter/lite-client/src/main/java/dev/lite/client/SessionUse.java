package dev.lite.client;

import dev.lite.api.LiteStatistics;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** What an application holds of its session. Any thread. Bounded by the node's limits for the session. */
final class SessionUse {
    private final AtomicInteger handles = new AtomicInteger();
    private final Map<ClientServer, String> functions = new ConcurrentHashMap<>();
    private final Map<Object, String> ports = new ConcurrentHashMap<>();
    private final Map<Object, String> locks = new ConcurrentHashMap<>();

    void mapped() {
        handles.incrementAndGet();
    }

    void unmapped() {
        handles.decrementAndGet();
    }

    /** The functions that are served, by their servers. */
    Map<ClientServer, String> functions() {
        return functions;
    }

    /** The ports that are open, by their objects. */
    Map<Object, String> ports() {
        return ports;
    }

    /** The locks that are held, by the holds. */
    Map<Object, String> locks() {
        return locks;
    }

    LiteStatistics statistics(ClientCounts counts) {
        return new LiteStatistics(
                counts.sums(), handles.get(), names(functions.values()), names(ports.values()), names(locks.values()));
    }

    private static List<String> names(Collection<String> names) {
        return List.copyOf(names);
    }
}

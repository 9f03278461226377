package dev.lite.manager.web;

import dev.lite.api.LiteException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.OrderBook;
import dev.lite.cluster.Orders;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;

/** Reads the orders after each change, on a thread of its own, since a watch must not block. Any thread may call the methods. */
@Component
public class OrderWatch implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(OrderWatch.class);

    private final Orders orders;
    private final Duration deadline;
    private final List<BiConsumer<@Nullable OrderBook, OrderBook>> listeners = new CopyOnWriteArrayList<>();
    private final ChangeWatch watch = new ChangeWatch("lite-order-watch", this::read, log::error);
    private volatile @Nullable OrderBook current;

    OrderWatch(ClusterDirectory directory, WebProperties properties) {
        orders = new Orders(directory);
        deadline = properties.requestDeadline();
        orders.watch(watch::changed);
    }

    /** Starts watching. Called once, after the listeners were added. */
    void start() {
        watch.start();
    }

    /** Adds a listener that receives the previous order book (null at first) and the current one, on the watch's thread. */
    void addListener(BiConsumer<@Nullable OrderBook, OrderBook> listener) {
        listeners.add(listener);
    }

    /** The number of orders that are neither done nor failed, from the cache. Never blocks. */
    public int open() {
        OrderBook book = current;
        return book == null ? 0 : book.open().size();
    }

    /** The names of the nodes that are drained or marked for draining, from the cache. Never blocks. */
    Set<String> draining() {
        OrderBook book = current;
        return book == null ? Set.of() : book.draining();
    }

    private boolean read() {
        OrderBook now;
        try {
            now = orders.read(deadline);
        } catch (LiteException e) {
            log.debug("cannot read the orders; retrying in {}: {}", ChangeWatch.RETRY, e.getMessage());
            return false;
        }
        OrderBook before = current;
        current = now;
        if (!now.equals(before)) {
            listeners.forEach(listener -> listener.accept(before, now));
        }
        return true;
    }

    @Override
    public void close() {
        watch.close();
    }
}

package dev.lite.manager.web;

import dev.lite.api.LiteException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.OrderBook;
import dev.lite.cluster.Orders;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;

/** Reads the orders whenever they changed, on a thread of its own, since a watch must not block. Any thread may ask. */
@Component
public class OrderWatch implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(OrderWatch.class);
    private static final Duration RETRY = Duration.ofSeconds(1);

    private final Orders orders;
    private final Duration deadline;
    private final List<BiConsumer<@Nullable OrderBook, OrderBook>> listeners = new CopyOnWriteArrayList<>();
    private final Semaphore changes = new Semaphore(0);
    private final Thread thread;
    private volatile @Nullable OrderBook heard;

    OrderWatch(ClusterDirectory directory, WebProperties properties) {
        orders = new Orders(directory);
        deadline = properties.requestDeadline();
        orders.watch(changes::release);
        thread = Thread.ofVirtual().name("lite-order-watch").unstarted(this::run);
    }

    /** Begins; before it nothing is heard. Once, after the listeners were added. */
    void start() {
        thread.start();
    }

    /** Adds a listener, told the book before, null at first, and the book now; on the watch's thread. */
    void addListener(BiConsumer<@Nullable OrderBook, OrderBook> listener) {
        listeners.add(listener);
    }

    /** How many orders are neither done nor failed, as last heard. Never blocks. */
    public int open() {
        OrderBook book = heard;
        return book == null ? 0 : book.open().size();
    }

    /** The names of the nodes that are drained or are to be, as last heard. Never blocks. */
    Set<String> draining() {
        OrderBook book = heard;
        return book == null ? Set.of() : book.draining();
    }

    private void run() {
        boolean behind = false;
        while (!Thread.currentThread().isInterrupted()) {
            try {
                if (behind) {
                    boolean unused = changes.tryAcquire(RETRY.toNanos(), TimeUnit.NANOSECONDS);
                } else {
                    changes.acquire();
                }
                changes.drainPermits();
                behind = !read();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private boolean read() {
        OrderBook now;
        try {
            now = orders.read(deadline);
        } catch (LiteException e) {
            log.debug("the orders are read again in {}: {}", RETRY, e.getMessage());
            return false;
        }
        OrderBook before = heard;
        heard = now;
        if (!now.equals(before)) {
            listeners.forEach(listener -> listener.accept(before, now));
        }
        return true;
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}

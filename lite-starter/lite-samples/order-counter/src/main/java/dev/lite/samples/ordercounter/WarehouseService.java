package dev.lite.samples.ordercounter;

import dev.lite.api.RpcHandlerException;
import dev.lite.boot.LtRpcHandler;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Service;

/**
 * Keeps the stock. It believes what the shops compute, but not from a shop that has lost its lock: it remembers the largest fencing token
 * of each article, and rejects smaller ones.
 */
@Service
@Profile("warehouse")
class WarehouseService {

    private final OrderProperties properties;
    private final Map<String, Shelf> shelves = new LinkedHashMap<>();
    private final Set<Long> numbers = new HashSet<>();
    private int orders;
    private int sold;

    private static final class Shelf {
        private int left;
        private long newestToken;
    }

    WarehouseService(OrderProperties properties) {
        this.properties = properties;
        for (String article : properties.articles()) {
            Shelf shelf = new Shelf();
            shelf.left = properties.pieces();
            shelves.put(article, shelf);
        }
    }

    @LtRpcHandler("warehouse/stock")
    synchronized int stock(String article) {
        return shelf(article).left;
    }

    @LtRpcHandler("warehouse/book")
    synchronized void book(Booking booking) {
        Shelf shelf = shelf(booking.article());
        if (booking.fencingToken() < shelf.newestToken) {
            throw new RpcHandlerException(
                    Warehouse.STALE,
                    "order %d comes too late: its token for %s is %d, and %d was seen"
                            .formatted(booking.order(), booking.article(), booking.fencingToken(), shelf.newestToken));
        }
        shelf.newestToken = booking.fencingToken();
        shelf.left = booking.left();
        numbers.add(booking.order());
        orders++;
        sold += booking.pieces();
    }

    @LtRpcHandler("warehouse/books")
    synchronized Books books() {
        int left = shelves.values().stream().mapToInt(shelf -> shelf.left).sum();
        return new Books(shelves.size() * properties.pieces(), sold, left, orders, numbers.size());
    }

    private Shelf shelf(String article) {
        Shelf shelf = shelves.get(article);
        if (shelf == null) {
            throw new RpcHandlerException("the warehouse has no %s, only %s".formatted(article, shelves.keySet()));
        }
        return shelf;
    }
}

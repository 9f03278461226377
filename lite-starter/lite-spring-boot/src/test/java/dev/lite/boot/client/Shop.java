package dev.lite.boot.client;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A client with every kind of method. Not public, as an application's may be. */
@LtRpcClient(node = "${shop.node}", prefix = "shop/", deadline = "2s")
interface Shop {
    record Order(String article, int count) {}

    record Receipt(String article, long cents) {}

    Receipt order(Order order);

    List<Order> split(Order order);

    @LtRpcExchange("split")
    CompletableFuture<List<Order>> splitLater(Order order);

    @LtRpcExchange(value = "stock", deadline = "1500ms")
    int stockOf(String article, @Nullable Duration deadline);

    void forget();

    @LtRpcExchange("forget")
    CompletableFuture<Void> forgetLater();

    default long centsOfOne(String article) {
        return order(new Order(article, 1)).cents();
    }
}

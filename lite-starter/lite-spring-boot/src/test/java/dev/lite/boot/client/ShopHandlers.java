package dev.lite.boot.client;

import dev.lite.api.RpcHandlerException;
import dev.lite.boot.LtRpcHandler;
import java.util.Collections;
import java.util.List;

/** Serves what {@link Shop} calls. */
class ShopHandlers {
    @LtRpcHandler("shop/order")
    Shop.Receipt order(Shop.Order order) {
        if (order.count() < 1) {
            throw new RpcHandlerException(1, "count is %d; it must be at least 1".formatted(order.count()));
        }
        return new Shop.Receipt(order.article(), 250L * order.count());
    }

    @LtRpcHandler("shop/split")
    List<Shop.Order> split(Shop.Order order) {
        return Collections.nCopies(order.count(), new Shop.Order(order.article(), 1));
    }

    @LtRpcHandler("shop/stock")
    int stock(String article) {
        return article.length();
    }

    @LtRpcHandler("shop/forget")
    void forget() {}
}

import static dev.lite.docs.Examples.check;

import dev.lite.boot.*;
import dev.lite.boot.client.*;
import dev.lite.docs.Examples;
import dev.lite.embedded.*;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.springframework.context.annotation.Configuration;

record Order(String article, int count) {}

record Receipt(String text) {}

class OrderService {
    @LtRpcHandler("shop/order")
    Receipt order(Order order) {
        return new Receipt(order.count() + " " + order.article());
    }

    @LtRpcHandler("shop/open")
    List<Order> open(String customer) {
        return List.of(new Order("tea for " + customer, 1));
    }

    @LtRpcHandler("shop/stock")
    int stock(String article) {
        return article.length();
    }
}

// BLOCK

public class Context {
    public static void run(EmbeddedCluster cluster) throws Exception {
        System.setProperty("shop.node", "node-2");
        try (var server = Examples.start(cluster.nodes().get(1).attach("shop"), OrderService.class);
                var caller = Examples.start(cluster.attach("till"), Clients.class)) {
            Shop shop = caller.getBean(Shop.class);
            check(shop.order(new Order("tea", 4)), new Receipt("4 tea"));
            check(shop.open("Ada").get(), List.of(new Order("tea for Ada", 1)));
            check(shop.stockOf("tea", Duration.ofSeconds(10)), 3);
        } finally {
            System.clearProperty("shop.node");
        }
    }
}

import static dev.lite.docs.Examples.check;

import dev.lite.boot.*;
import dev.lite.docs.Examples;
import dev.lite.embedded.*;

record Order(String article, int count) {}

record Receipt(String text) {}

class OrderService {
    @LtRpcHandler("shop/order")
    Receipt order(Order order) {
        return new Receipt(order.count() + " " + order.article());
    }
}

public class Context {
    public static void run(EmbeddedCluster cluster) {
        try (var server = Examples.start(cluster.nodes().get(1).attach("shop"), OrderService.class);
                var caller = Examples.start(cluster.attach("till"))) {
            LtRpcTemplate template = caller.getBean(LtRpcTemplate.class);
            // BLOCK
            check(receipt, new Receipt("4 tea"));
        }
    }
}

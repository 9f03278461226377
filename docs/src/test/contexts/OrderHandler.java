import static dev.lite.docs.Examples.check;

import dev.lite.api.*;
import dev.lite.boot.*;
import dev.lite.docs.Examples;
import dev.lite.embedded.*;
import org.springframework.stereotype.Service;

// BLOCK

public class Context {
    public static void run(EmbeddedCluster cluster) {
        try (var server = Examples.start(cluster.nodes().get(1).attach("shop"), OrderService.class);
                var caller = Examples.start(cluster.attach("till"))) {
            Receipt receipt = caller.getBean(LtRpcTemplate.class)
                    .call("node-2", "shop/order", new Order("tea", 4), Receipt.class);
            check(receipt, new Receipt("4 tea for till"));
        }
    }
}

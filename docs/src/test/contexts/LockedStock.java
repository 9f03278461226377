import static dev.lite.docs.Examples.check;

import dev.lite.boot.lock.*;
import dev.lite.docs.Examples;
import dev.lite.embedded.*;
import java.util.ArrayList;
import java.util.List;

class Store {
    final List<String> taken = new ArrayList<>();

    void take(String article, int count, long token) {
        taken.add(count + " " + article + (token > 0 ? "" : " without a token"));
    }
}

class Warehouse {
    final Store stock;

    Warehouse(Store stock) {
        this.stock = stock;
    }

    // BLOCK
}

public class Context {
    public static void run(EmbeddedCluster cluster) {
        try (var context = Examples.start(cluster.attach("shop"), Store.class, Warehouse.class)) {
            context.getBean(Warehouse.class).take("tea", 2);
            check(context.getBean(Store.class).taken, List.of("2 tea"));
        }
    }
}

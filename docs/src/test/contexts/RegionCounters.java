import static dev.lite.docs.Examples.check;

import dev.lite.api.*;
import dev.lite.boot.region.LiteRegion;
import dev.lite.docs.Examples;
import dev.lite.embedded.*;
import org.springframework.stereotype.Service;

// BLOCK

public class Context {
    public static void run(EmbeddedCluster cluster) {
        try (var context = Examples.start(cluster.attach("shop"), Counters.class)) {
            check(context.getBean(Counters.class).sold(3), 1L);
        }
    }
}

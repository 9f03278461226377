import static dev.lite.docs.Examples.check;

import dev.lite.api.*;
import dev.lite.embedded.*;
import org.springframework.stereotype.Service;

// BLOCK

public class Context {
    public static void run(EmbeddedCluster cluster) {
        for (long start = 0; start < 2; start++) { // the second start maps what the first one created
            try (Lite session = cluster.attach("shop")) {
                Counters counters = new Counters(session.memory());
                check(counters.sold(3), start + 1);
            }
        }
    }
}

import static dev.lite.docs.Examples.check;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.lite.api.*;
import dev.lite.embedded.*;
import dev.lite.log.*;
import java.time.Duration;

public class Context {
    public static void run(EmbeddedCluster cluster) {
        try (Lite lite = cluster.attach("shop")) {
            tour(lite);
            LiteLog log = new LiteLogs(lite).open("shop/audit");
            LogTransaction next = log.consumer("billing", 0).next(Duration.ofSeconds(5));
            check(new String(next.bytes(0), UTF_8), "paid 13");
            log.close();
            new LiteLogs(lite).delete("shop/audit");
        }
    }

    private static void tour(Lite lite) {
        // BLOCK
    }
}

import static dev.lite.docs.Examples.check;

import dev.lite.api.*;
import dev.lite.docs.Examples;
import dev.lite.embedded.*;
import dev.lite.mr.*;
import dev.lite.mr.jobs.WordCount;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.springframework.stereotype.Service;

// BLOCK

public class Context {
    public static void run(EmbeddedCluster cluster) throws IOException {
        Path text = Files.createTempFile("lite-docs", ".txt");
        try (Lite other = cluster.nodes().get(1).attach("shop");
                MrWorker worker = MrWorker.start(other, WorkerOptions.of("default"));
                var context = Examples.start(cluster.attach("shop"), Reports.class)) {
            Files.writeString(text, "tea cup tea");
            check(context.getBean(Reports.class).count(text), 2L);
        } finally {
            Files.deleteIfExists(text);
        }
    }
}

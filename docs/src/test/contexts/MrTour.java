import static dev.lite.docs.Examples.check;

import dev.lite.api.*;
import dev.lite.embedded.*;
import dev.lite.mr.*;
import dev.lite.mr.jobs.WordCount;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

public class Context {
    public static void run(EmbeddedCluster cluster) throws IOException {
        Path text = Files.createTempFile("lite-docs", ".txt");
        Path counts = text.resolveSibling(text.getFileName() + ".counts");
        try (Lite lite = cluster.attach("shop");
                Lite other = cluster.nodes().get(1).attach("shop");
                MrWorker worker = MrWorker.start(other, WorkerOptions.of("reports"))) {
            Files.writeString(text, "tea cup tea");
            tour(lite, text, counts);
            check(Files.readAllLines(counts).stream().sorted().toList().toString(), "[cup\t1, tea\t2]");
        } finally {
            Files.deleteIfExists(text);
            Files.deleteIfExists(counts);
        }
    }

    private static void tour(Lite lite, Path text, Path counts) {
        // BLOCK
    }
}

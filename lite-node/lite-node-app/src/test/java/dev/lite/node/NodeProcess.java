package dev.lite.node;

import dev.lite.testing.ServiceProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** A node in its own process. */
final class NodeProcess extends ServiceProcess {
    NodeProcess(Path directory, String name, String... options) throws IOException {
        super(
                "the node",
                directory,
                name,
                LiteNodeApplication.class,
                List.of("lite.exit-with-pid=" + ProcessHandle.current().pid()),
                options);
    }
}

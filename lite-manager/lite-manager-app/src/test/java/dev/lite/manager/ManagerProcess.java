package dev.lite.manager;

import dev.lite.testing.ServiceProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** A manager in its own process. */
final class ManagerProcess extends ServiceProcess {
    ManagerProcess(Path directory, String name, String... options) throws IOException {
        super(
                "the manager",
                directory,
                name,
                LiteManagerApplication.class,
                List.of("lite.manager.zookeeper.port=0"),
                options);
    }
}

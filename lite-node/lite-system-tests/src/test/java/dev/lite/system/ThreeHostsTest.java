package dev.lite.system;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.lite.api.Lite;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Three nodes on three simulated hosts that are connected only by a network, with a cluster secret; the manager is on a fourth host.
 * Skipped if network namespaces cannot be created.
 */
class ThreeHostsTest {
    private static final long SEED = System.nanoTime();

    @TempDir
    private Path directory;

    /** Directory of the arenas. */
    @TempDir(factory = InDevShm.class)
    private Path memory;

    @Test
    void threeHostsShareMemoryOverTheirNetwork() throws IOException {
        var reason = Hosts.unavailable();
        assumeTrue(reason.isEmpty(), () -> "skipped: " + reason.orElse(""));
        System.out.println("seed " + SEED);
        Path logs = Path.of(System.getProperty("lite.system.logs"), "ThreeHostsTest");
        try (var cluster = new HostsCluster(3, directory, memory, logs, false, List.of());
                Lite writer = cluster.attach(1);
                Lite reader = cluster.attach(3)) {
            HostsCluster.awaitConnected(writer, 2);
            TcpWorkload.run(writer, reader, "hosts/spread", SEED);
        }
    }
}

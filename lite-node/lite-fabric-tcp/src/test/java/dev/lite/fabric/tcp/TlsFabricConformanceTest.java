package dev.lite.fabric.tcp;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.conformance.FabricConformanceTest;
import dev.lite.testing.Certificates;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/** The TCP driver fulfils the SPI's contract with TLS and a secret, too. */
class TlsFabricConformanceTest extends FabricConformanceTest {
    @TempDir
    static Path directory;

    private static SSLContext context;

    @BeforeAll
    static void makeCertificate() {
        context = Certificates.make(directory, "node");
    }

    @Override
    protected FabricProvider provider() {
        return new Encrypted(new TcpFabricProvider(), context);
    }

    private record Encrypted(FabricProvider driver, SSLContext context) implements FabricProvider {
        @Override
        public String name() {
            return driver.name();
        }

        @Override
        public Optional<String> unavailable() {
            return driver.unavailable();
        }

        @Override
        public Fabric open(FabricConfig config, FabricHandler handler) {
            return driver.open(config.withTls(context), handler);
        }
    }

    @Override
    protected Map<String, String> options() {
        return Map.of("secret", "a secret beside the certificates", "lanes", "3");
    }

    @Override
    protected FabricMemory memory(long bytes) {
        return new FabricMemory(Arena.ofAuto().allocate(bytes, 4096), FabricMemory.NO_DESCRIPTOR);
    }
}

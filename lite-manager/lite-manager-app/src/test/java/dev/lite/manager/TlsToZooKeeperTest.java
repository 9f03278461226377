package dev.lite.manager;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.cluster.CuratorDirectory;
import dev.lite.testing.Certificates;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.zookeeper.server.embedded.ExitHandler;
import org.apache.zookeeper.server.embedded.ZooKeeperServerEmbedded;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;

/** A manager whose connections to ZooKeeper are configured by a Spring SSL bundle. ZooKeeper requires certificates. */
@Isolated("ZooKeeper's server takes its certificates from system properties")
class TlsToZooKeeperTest {
    @TempDir
    static Path directory;

    private static Certificates.Authority authority;
    private static Map<String, String> ofServer = Map.of();
    private static ZooKeeperServerEmbedded server;
    private static int port;

    @BeforeAll
    static void startZooKeeper() throws Exception {
        authority = Certificates.authority(directory);
        Object unusedServer = authority.issue("zookeeper", "localhost", 0, 2);
        Object unusedClient = authority.issue("manager", "manager", 0, 2);
        String store = authority.store("zookeeper").toString();
        ofServer = Map.of(
                "zookeeper.serverCnxnFactory",
                "org.apache.zookeeper.server.NettyServerCnxnFactory",
                "zookeeper.ssl.keyStore.location",
                store,
                "zookeeper.ssl.keyStore.password",
                Certificates.PASSWORD,
                "zookeeper.ssl.trustStore.location",
                store,
                "zookeeper.ssl.trustStore.password",
                Certificates.PASSWORD,
                "zookeeper.ssl.clientAuth",
                "need");
        ofServer.forEach(System::setProperty);
        port = freePort();
        Properties properties = new Properties();
        properties.setProperty("secureClientPort", Integer.toString(port));
        properties.setProperty("secureClientPortAddress", "127.0.0.1");
        properties.setProperty("admin.enableServer", "false");
        server = ZooKeeperServerEmbedded.builder()
                .baseDir(Files.createDirectory(directory.resolve("data")))
                .configuration(properties)
                .exitHandler(ExitHandler.LOG_ONLY)
                .build();
        server.start(Waits.seconds(20).toMillis());
    }

    @AfterAll
    static void stopZooKeeper() {
        if (server != null) {
            server.close();
        }
        ofServer.keySet().forEach(System::clearProperty);
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private static ConfigurableApplicationContext start(boolean ownCertificate, String... options) {
        String bundle = "--spring.ssl.bundle.jks.zk.";
        String file = "file:" + authority.store("manager");
        List<String> arguments = new ArrayList<>(List.of(
                "--server.port=0",
                "--lite.cluster.zookeeper=localhost:" + port,
                "--lite.cluster.secret=the secret of this cluster",
                "--lite.cluster.ssl-bundle=zk",
                bundle + "truststore.location=" + file,
                bundle + "truststore.password=" + Certificates.PASSWORD));
        if (ownCertificate) {
            arguments.add(bundle + "keystore.location=" + file);
            arguments.add(bundle + "keystore.password=" + Certificates.PASSWORD);
        }
        arguments.addAll(List.of(options));
        return SpringApplication.run(LiteManagerApplication.class, arguments.toArray(String[]::new));
    }

    @Test
    void aManagerWithACertificateUsesZooKeeper() {
        try (ConfigurableApplicationContext manager = start(true)) {
            assertThat(manager.getBean(CuratorDirectory.class).nodesNow(RunningManager.DEADLINE))
                    .isEmpty();
        }
    }

    @Test
    void aManagerWithoutACertificateDoesNotStart() {
        assertThatThrownBy(() -> {
                    try (ConfigurableApplicationContext unexpected = start(false, "--lite.manager.start-deadline=2s")) {
                        assertThat(unexpected.isActive()).isFalse();
                    }
                })
                .rootCause()
                .hasMessageContaining("cannot be reached");
    }

    @Test
    void aMissingBundleIsReported() {
        assertThatThrownBy(() -> {
                    try (ConfigurableApplicationContext unexpected = start(true, "--lite.cluster.ssl-bundle=none")) {
                        assertThat(unexpected.isActive()).isFalse();
                    }
                })
                .rootCause()
                .hasMessageContaining("none");
    }
}

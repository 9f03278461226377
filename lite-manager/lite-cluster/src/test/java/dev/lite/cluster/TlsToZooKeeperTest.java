package dev.lite.cluster;

import static dev.lite.cluster.ClusterDirectoryContract.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.testing.Certificates;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Stream;
import org.apache.zookeeper.server.embedded.ExitHandler;
import org.apache.zookeeper.server.embedded.ZooKeeperServerEmbedded;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** TLS to a real ZooKeeper, which requires certificates of its clients. */
@Isolated("ZooKeeper's server takes its certificates from system properties")
class TlsToZooKeeperTest {
    @TempDir
    static Path directory;

    private static final Map<String, String> SERVER = Map.of(
            "zookeeper.serverCnxnFactory",
            "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "zookeeper.ssl.keyStore.password",
            Certificates.PASSWORD,
            "zookeeper.ssl.trustStore.password",
            Certificates.PASSWORD,
            "zookeeper.ssl.clientAuth",
            "need");

    private static Certificates.Authority authority;
    private static ZooKeeperServerEmbedded server;
    private static String connectString;

    @BeforeAll
    static void start() throws Exception {
        authority = Certificates.authority(directory);
        Object unusedServer = authority.issue("zookeeper", "localhost", 0, 2);
        Object unusedClient = authority.issue("node", "node-1", 0, 2);
        SERVER.forEach(System::setProperty);
        String store = authority.store("zookeeper").toString();
        System.setProperty("zookeeper.ssl.keyStore.location", store);
        System.setProperty("zookeeper.ssl.trustStore.location", store);
        Properties properties = new Properties();
        int port = freePort();
        properties.setProperty("secureClientPort", Integer.toString(port));
        properties.setProperty("secureClientPortAddress", "127.0.0.1");
        properties.setProperty("tickTime", Integer.toString(RealZooKeeper.TICK_MS));
        properties.setProperty("admin.enableServer", "false");
        properties.setProperty("forceSync", "no");
        server = ZooKeeperServerEmbedded.builder()
                .baseDir(Files.createDirectory(directory.resolve("data")))
                .configuration(properties)
                .exitHandler(ExitHandler.LOG_ONLY)
                .build();
        server.start(Waits.seconds(20).toMillis());
        connectString = "localhost:" + port;
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
        Stream.concat(
                        SERVER.keySet().stream(),
                        Stream.of("zookeeper.ssl.keyStore.location", "zookeeper.ssl.trustStore.location"))
                .forEach(System::clearProperty);
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private static KeyStore store(String name) throws IOException, GeneralSecurityException {
        return KeyStore.getInstance(authority.store(name).toFile(), Certificates.PASSWORD.toCharArray());
    }

    private static CuratorDirectory open(CuratorConfig.@Nullable Tls tls) {
        return CuratorDirectory.open(
                new CuratorConfig(connectString, "tls", Waits.seconds(5), Waits.seconds(2)).withTls(tls));
    }

    @Test
    void aProcessWithACertificateUsesTheDirectoryAndLeavesNoFileWithAKey() throws Exception {
        List<Path> before = keyDirectories();
        try (CuratorDirectory directoryOverTls =
                open(new CuratorConfig.Tls(store("node"), store("node"), Certificates.PASSWORD))) {
            NodeRecord node = directoryOverTls.register(ClusterDirectoryContract.advert("a"), DEADLINE);
            assertThat(directoryOverTls.nodesNow(DEADLINE)).containsExactly(node);
        }
        assertThat(keyDirectories()).isEqualTo(before);
    }

    private static List<Path> keyDirectories() throws IOException {
        try (Stream<Path> files = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            return files.filter(file -> file.getFileName().toString().startsWith("lite-zookeeper-tls"))
                    .sorted()
                    .toList();
        }
    }

    @Test
    void aProcessWithoutACertificateIsRefused() throws Exception {
        assertUnreachable(new CuratorConfig.Tls(store("node"), null, null));
    }

    @Test
    void aProcessWithoutTlsIsRefused() {
        assertUnreachable(null);
    }

    @Test
    void aServerWithAForeignCertificateIsNotTrusted() throws Exception {
        Path other = Files.createDirectory(directory.resolve("other"));
        Certificates.Authority foreign = Certificates.authority(other);
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry(
                "foreign",
                KeyStore.getInstance(foreign.file().toFile(), Certificates.PASSWORD.toCharArray())
                        .getCertificate("authority"));

        assertUnreachable(new CuratorConfig.Tls(trusted, store("node"), Certificates.PASSWORD));
    }

    private static void assertUnreachable(CuratorConfig.@Nullable Tls tls) {
        try (CuratorDirectory refused = open(tls)) {
            assertThatThrownBy(() -> refused.nodesNow(Duration.ofSeconds(2)))
                    .isInstanceOf(ClusterUnavailableException.class)
                    .hasMessageContaining("cannot be reached");
        }
    }
}

package dev.lite.manager.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EmbeddedZooKeeperTest {
    @Test
    void aServerThatEndedOnAFullDiskRunsAgainWhenTheDiskHasRoom(@TempDir Path data) throws IOException {
        EmbeddedZooKeeperConfig config = new EmbeddedZooKeeperConfig("127.0.0.1", 0, data, Waits.seconds(60));
        try (EmbeddedZooKeeper server = EmbeddedZooKeeper.start(config)) {
            // The server makes its log when it has something to write: the first session.
            Path log = data.resolve("version-2").resolve("log.1");
            Files.createSymbolicLink(log, Path.of("/dev/full"));
            try (CuratorDirectory directory = CuratorDirectory.open(CuratorConfig.of(server.connectString(), "lite"))) {
                Waits.until("the server has ended", () -> !isListening(server));
                Files.delete(log);
                Waits.until("it runs again", directory::isAvailable);
                assertThat(data.toFile().list((parent, name) -> name.startsWith("zookeeper.configuration")))
                        .as("what the former server has left")
                        .hasSizeLessThan(2);
                assertThat(Thread.getAllStackTraces().keySet())
                        .as("threads that stay when a server has ended")
                        .noneMatch(thread -> thread.getName().startsWith("PurgeTask"));
            }
        }
    }

    private static boolean isListening(EmbeddedZooKeeper server) {
        String address = server.connectString();
        int port = Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return socket.isConnected();
        } catch (IOException refused) {
            return false;
        }
    }
}

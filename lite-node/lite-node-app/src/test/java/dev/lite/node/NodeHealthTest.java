package dev.lite.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.DirectoryListener;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.process.ClusterProperties;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.peer.FabricSelection;
import dev.lite.tier.session.SessionServer;
import dev.lite.tier.session.SessionServerConfig;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.health.contributor.Status;

class NodeHealthTest {
    @TempDir
    Path directory;

    private final List<DirectoryListener> listeners = new CopyOnWriteArrayList<>();

    /** The directory, whose listeners the test knows. */
    private ClusterDirectory seen(ClusterDirectory real) {
        return (ClusterDirectory) Proxy.newProxyInstance(
                ClusterDirectory.class.getClassLoader(),
                new Class<?>[] {ClusterDirectory.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("addListener")) {
                        listeners.add((DirectoryListener) arguments[0]);
                    }
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    @Test
    void aNodeWhoseRegistrationIsLostIsOutOfServiceAlthoughTheDirectoryIsReachable() {
        InMemoryDirectory real = new InMemoryDirectory.Store().open();
        LiteNodeConfig config = LiteNodeConfig.builder("c", "n0", 8L << 20, directory.resolve("run"))
                .arena(directory.resolve("arenas"), false)
                .build();
        try (LiteNode node = LiteNode.start(config, seen(real), List.of(new ShmFabricProvider()));
                SessionServer sessions =
                        new SessionServer(SessionServerConfig.of(directory.resolve("node.sock")), node)) {
            NodeHealthIndicator indicator = new NodeHealthIndicator(
                    node,
                    sessions,
                    real,
                    new ClusterProperties(
                            "c",
                            "127.0.0.1:2181",
                            Duration.ofSeconds(6),
                            Duration.ofSeconds(5),
                            new ClusterProperties.Auth("lite", null, null, false),
                            null,
                            null,
                            false,
                            null),
                    new FabricSelection(List.of("shm"), Map.of()));
            assertThat(indicator.health().getStatus()).isEqualTo(Status.UP);

            listeners.forEach(DirectoryListener::registrationLost);

            assertThat(indicator.health().getStatus()).isEqualTo(Status.OUT_OF_SERVICE);
            assertThat(indicator.health().getDetails())
                    .containsEntry("registration", "lost")
                    .containsEntry("directory", "available");
        }
        real.close();
    }
}

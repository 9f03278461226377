package dev.lite.node;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.cluster.process.StartException;
import dev.lite.fabric.FabricProvider;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.session.SessionServer;
import dev.lite.tier.session.SessionServerConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import java.util.TreeMap;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The node's parts. Spring closes them in the reverse order: the sessions, the tier, the directory. */
@Configuration(proxyBeanMethods = false)
class NodeConfiguration {

    @Bean
    CuratorDirectory clusterDirectory(ClusterProperties cluster) {
        return CuratorDirectory.open(cluster.toConfig());
    }

    @Bean
    LiteNode liteNode(NodeProperties node, ClusterProperties cluster, ClusterDirectory directory) {
        makeDirectory(node.runDirectory(), "lite.node.run-directory");
        makeDirectory(node.arena().directory(), "lite.node.arena.directory");
        return LiteNode.start(node.toConfig(cluster.name()), directory, providers(node.fabrics()));
    }

    private static List<FabricProvider> providers(List<String> names) {
        TreeMap<String, FabricProvider> known = new TreeMap<>();
        ServiceLoader.load(FabricProvider.class).forEach(provider -> known.put(provider.name(), provider));
        List<FabricProvider> chosen = new ArrayList<>();
        for (String name : names) {
            FabricProvider provider = known.get(name);
            if (provider == null) {
                throw new StartException(
                        "there is no fabric \"%s\"; there are %s".formatted(name, known.keySet()),
                        "Correct lite.node.fabrics.",
                        null);
            }
            chosen.add(provider);
        }
        if (chosen.isEmpty()) {
            throw new StartException(
                    "lite.node.fabrics is empty; there are %s".formatted(known.keySet()),
                    "Name at least one fabric in lite.node.fabrics.",
                    null);
        }
        return chosen;
    }

    @Bean
    SessionServer sessionServer(NodeProperties properties, LiteNode node) {
        SessionServerConfig config = properties.toSessionConfig();
        Path parent = config.socket().getParent();
        if (parent != null) {
            makeDirectory(parent, "lite.node.socket");
        }
        SessionServer server = new SessionServer(config, node);
        server.start();
        return server;
    }

    private static void makeDirectory(Path directory, String property) {
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw new StartException(
                    "the directory %s of %s cannot be made: %s".formatted(directory, property, e),
                    "Let %s name a place that this user may write to.".formatted(property),
                    e);
        }
    }
}

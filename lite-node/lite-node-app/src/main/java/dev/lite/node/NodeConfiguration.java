package dev.lite.node;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.cluster.process.StartException;
import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricProvider;
import dev.lite.process.ClusterProperties;
import dev.lite.process.ZooKeeperBundle;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.peer.FabricSelection;
import dev.lite.tier.session.SessionServer;
import dev.lite.tier.session.SessionServerConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.TreeMap;
import javax.net.ssl.SSLContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.ssl.NoSuchSslBundleException;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** The node's beans. Spring closes them in reverse order: the sessions, the tier, the directory. */
@Configuration(proxyBeanMethods = false)
class NodeConfiguration {
    private static final Logger log = LoggerFactory.getLogger(NodeConfiguration.class);

    @Bean
    CuratorDirectory clusterDirectory(
            ClusterProperties cluster,
            NodeProperties node,
            FabricSelection fabrics,
            ApplicationContext context,
            ObjectProvider<SslBundles> sslBundles) {
        // A wrong value of any property ends the start before the node opens anything.
        Object unusedProperties = context.getBeansWithAnnotation(ConfigurationProperties.class);
        NodeChecks.check(node, cluster, fabrics.names());
        return CuratorDirectory.open(cluster.toConfig(ZooKeeperBundle.read(cluster.sslBundle(), sslBundles)));
    }

    @Bean
    LiteNode liteNode(
            NodeProperties node,
            ClusterProperties cluster,
            ClusterDirectory directory,
            FabricSelection fabrics,
            ObjectProvider<SslBundles> sslBundles) {
        makeDirectory(node.runDirectory(), "lite.node.run-directory");
        makeDirectory(node.arena().directory(), "lite.node.arena.directory");
        LiteNodeConfig config = node.toConfig(cluster.name(), fabrics.names());
        LiteNode started = LiteNode.start(config, directory, providers(fabrics.names(), node, sslBundles));
        started.setOrphanGrace(node.orphanGrace());
        started.setNameIdle(node.nameIdle());
        started.setReturnGrace(node.returnGrace());
        return started;
    }

    @Bean
    FabricSelection fabricSelection(NodeProperties node, Environment environment) {
        Map<String, FabricProvider> known = drivers();
        NodeChecks.fabrics(environment, node.fabrics());
        FabricSelection chosen = FabricSelection.of(
                environment.getProperty("lite.fabric"),
                environment.getProperty("lite.fabric.require"),
                node.fabrics(),
                name -> unusable(name, known, node));
        log.info("fabrics {}", chosen.describe());
        return chosen;
    }

    private static Optional<String> unusable(String name, Map<String, FabricProvider> known, NodeProperties node) {
        FabricProvider driver = known.get(name);
        if (driver == null) {
            return Optional.of("its driver is not on the class path");
        }
        if (name.equals("rdma") && node.rdmaSecret() == null) {
            return Optional.of(
                    "it needs the cluster's secret: set lite.node.rdma.secret-file or lite.node.tcp.secret-file");
        }
        if (name.equals("tcp") && !node.tcp().isProtected()) {
            return Optional.of(
                    "it needs the cluster's secret or TLS: set lite.node.tcp.secret-file or lite.node.tcp.ssl-bundle");
        }
        return driver.unavailable();
    }

    private static Map<String, FabricProvider> drivers() {
        TreeMap<String, FabricProvider> known = new TreeMap<>();
        ServiceLoader.load(FabricProvider.class).forEach(provider -> known.put(provider.name(), provider));
        return known;
    }

    private static List<FabricProvider> providers(
            List<String> names, NodeProperties node, ObjectProvider<SslBundles> sslBundles) {
        Map<String, FabricProvider> known = drivers();
        String bundle = node.tcp().sslBundle();
        if (bundle != null) {
            known.computeIfPresent("tcp", (name, tcp) -> new TlsFabric(tcp, tls(bundle, sslBundles)));
        }
        List<FabricProvider> chosen = new ArrayList<>();
        for (String name : names) {
            FabricProvider provider = known.get(name);
            if (provider == null) {
                throw new StartException(
                        "unknown fabric \"%s\"; the known fabrics are %s".formatted(name, known.keySet()),
                        "Correct lite.node.fabrics.",
                        null);
            }
            chosen.add(provider);
        }
        if (chosen.isEmpty()) {
            throw new StartException(
                    "lite.node.fabrics is empty; the known fabrics are %s".formatted(known.keySet()),
                    "List at least one fabric in lite.node.fabrics.",
                    null);
        }
        return chosen;
    }

    static SSLContext tls(String bundle, ObjectProvider<SslBundles> sslBundles) {
        try {
            SslBundle found = sslBundles.getObject().getBundle(bundle);
            if (found.getStores().getTrustStore() == null) { // Java's own authorities would be trusted
                throw new StartException(
                        "the SSL bundle \"%s\" of lite.node.tcp.ssl-bundle has no trusted certificates, so everybody with a certificate of a public web site could connect"
                                .formatted(bundle),
                        "Set spring.ssl.bundle.pem.%s.truststore.certificate, or the truststore of .jks.%s."
                                .formatted(bundle, bundle),
                        null);
            }
            return found.createSslContext();
        } catch (NoSuchSslBundleException e) {
            throw new StartException(
                    "there is no SSL bundle \"%s\"".formatted(bundle),
                    "Define spring.ssl.bundle.pem.%s or .jks.%s, or correct lite.node.tcp.ssl-bundle."
                            .formatted(bundle, bundle),
                    e);
        } catch (IllegalStateException e) {
            throw new StartException(
                    "the SSL bundle \"%s\" cannot be used: %s".formatted(bundle, e.getMessage()),
                    "Correct spring.ssl.bundle for %s.".formatted(bundle),
                    e);
        }
    }

    /** A fabric that encrypts. */
    private record TlsFabric(FabricProvider plain, SSLContext tls) implements FabricProvider {
        @Override
        public String name() {
            return plain.name();
        }

        @Override
        public Optional<String> unavailable() {
            return plain.unavailable();
        }

        @Override
        public Fabric open(FabricConfig config, FabricHandler handler) {
            return plain.open(config.withTls(tls), handler);
        }
    }

    @Bean
    SessionServer sessionServer(NodeProperties properties, LiteNode node) {
        SessionServerConfig config = properties.toSessionConfig();
        Path parent = config.socket().getParent();
        if (parent != null) {
            makeDirectory(parent, "lite.node.socket");
        }
        String unlimited = PrincipalProperties.unlimited(properties.principals());
        if (unlimited != null) {
            log.info(
                    "may use every name of LMRs, locks, barriers, functions and ports, also those of others: {} (lite.node.principals[n].names limits it)",
                    unlimited);
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
                    "cannot create the directory %s of %s: %s".formatted(directory, property, e),
                    "Set %s to a path that this user may write to.".formatted(property),
                    e);
        }
        if (!Files.isWritable(directory)) {
            throw new StartException(
                    "the directory %s of %s is not writable for this process's user".formatted(directory, property),
                    "Let this user write there, or set %s to a path that it may write to.".formatted(property),
                    null);
        }
    }
}

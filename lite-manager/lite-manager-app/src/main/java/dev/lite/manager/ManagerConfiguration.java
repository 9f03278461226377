package dev.lite.manager;

import dev.lite.cluster.CuratorDirectory;
import dev.lite.cluster.EpochKeeperThread;
import dev.lite.cluster.Leadership;
import dev.lite.cluster.process.HostName;
import dev.lite.cluster.process.StartException;
import dev.lite.manager.web.ManagerIdentity;
import dev.lite.manager.zookeeper.EmbeddedZooKeeper;
import dev.lite.manager.zookeeper.EmbeddedZooKeeperConfig;
import dev.lite.process.ClusterProperties;
import dev.lite.process.ZooKeeperBundle;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The manager's beans. Spring closes them in reverse order: the epoch thread, the election, the directory, ZooKeeper. */
@Configuration(proxyBeanMethods = false)
class ManagerConfiguration {

    @Bean
    @ConditionalOnBooleanProperty("lite.manager.zookeeper.embedded")
    EmbeddedZooKeeper embeddedZooKeeper(
            ManagerProperties manager, ClusterProperties cluster, ApplicationContext context) {
        checkAll(context);
        ManagerProperties.ZooKeeper properties = manager.zookeeper();
        Path dataDirectory = properties.dataDirectory();
        if (dataDirectory == null) {
            throw new StartException(
                    "lite.manager.zookeeper.embedded is true, but no data directory is set",
                    "Set lite.manager.zookeeper.data-directory.",
                    null);
        }
        if (cluster.zookeeper() != null) {
            throw new StartException(
                    "lite.manager.zookeeper.embedded is true, and lite.cluster.zookeeper is \"%s\": only one may be set"
                            .formatted(cluster.zookeeper()),
                    "Remove one of the two.",
                    null);
        }
        return EmbeddedZooKeeper.start(new EmbeddedZooKeeperConfig(
                properties.address(), properties.port(), dataDirectory, properties.startTimeout()));
    }

    @Bean
    CuratorDirectory clusterDirectory(
            ClusterProperties cluster,
            ManagerProperties manager,
            ObjectProvider<EmbeddedZooKeeper> embedded,
            ApplicationContext context,
            ObjectProvider<SslBundles> sslBundles) {
        checkAll(context);
        CuratorDirectory directory = CuratorDirectory.open(cluster.toConfig(
                connectString(cluster.zookeeper(), embedded.getIfAvailable()),
                ZooKeeperBundle.read(cluster.sslBundle(), sslBundles)));
        try {
            directory.nodesNow(manager.startDeadline());
        } catch (RuntimeException e) {
            directory.close();
            throw e;
        }
        return directory;
    }

    /** Binds all properties: a wrong value of any ends the start before the manager opens anything. */
    private static void checkAll(ApplicationContext context) {
        Object unusedProperties = context.getBeansWithAnnotation(ConfigurationProperties.class);
    }

    private static String connectString(@Nullable String configured, @Nullable EmbeddedZooKeeper embedded) {
        if (embedded != null) {
            return embedded.connectString();
        }
        if (configured == null || configured.isBlank()) {
            throw new StartException(
                    "no ZooKeeper is configured",
                    "Set lite.cluster.zookeeper to host:port[,host:port...], or, for a cluster on one machine, lite.manager.zookeeper.embedded to true.",
                    null);
        }
        return configured;
    }

    @Bean
    ManagerIdentity managerIdentity(ClusterProperties cluster, ManagerProperties manager) {
        String name = manager.name() == null
                ? "%s/%d".formatted(HostName.get(), ProcessHandle.current().pid())
                : manager.name();
        return new ManagerIdentity(cluster.name(), name);
    }

    @Bean
    Leadership leadership(CuratorDirectory directory, ManagerIdentity identity) {
        return directory.leadership(identity.name());
    }

    @Bean
    EpochKeeperThread epochKeeping(CuratorDirectory directory, Leadership leadership) {
        return directory.keepEpochs(leadership);
    }
}

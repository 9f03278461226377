package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Placement;
import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.util.HashMap;
import java.util.Map;
import org.assertj.core.util.Throwables;
import org.junit.jupiter.api.Test;

/** A Spring application with an embedded node joins a cluster of processes that has a secret, and a user of ZooKeeper. */
class EmbeddedNodeJoinsTest {
    private static final String PASSWORD = "of the cluster";

    @Test
    void anEmbeddedNodeJoinsWithThePasswordAndIsRefusedWithAnother() {
        try (LocalCluster cluster = Clusters.builder("EmbeddedNodeJoinsTest")
                        .nodes(1)
                        .property("lite.cluster.auth.password", PASSWORD)
                        .build();
                Applications applications = new Applications()) {
            cluster.startManager();
            cluster.startNodes();

            Lite lite = applications.startEmbedded(properties(cluster, "welcome", PASSWORD));

            LmrHandle handle =
                    lite.memory().malloc(LmrSpec.of(4096).withPlacement(Placement.on("node-1")), Waits.seconds(20));
            assertThat(handle.fetchAdd(0, 5)).isZero();
            assertThat(handle.fetchAdd(0, 0)).isEqualTo(5);
            handle.free();
            Throwable refusal =
                    catchThrowable(() -> applications.startEmbedded(properties(cluster, "stranger", "a guess")));
            assertThat(Throwables.getRootCause(refusal))
                    .hasMessageContaining("another password")
                    .hasMessageNotContaining("a guess");
            assertThat(lite.nodes()).extracting(NodeInfo::name).containsExactlyInAnyOrder("node-1", "welcome");
        }
    }

    /** Else the others refuse its registration and its records, and nobody can use the names that it created. */
    @Test
    void anEmbeddedNodeWithoutTheSecretOfTheClusterOrWithAnotherOneDoesNotStart() {
        try (LocalCluster cluster =
                        Clusters.builder("EmbeddedNodeJoinsTest").nodes(1).build();
                Applications applications = new Applications()) {
            cluster.startManager();
            cluster.startNodes();
            Map<String, Object> without = properties(cluster, "without", PASSWORD);
            without.remove("lite.embedded.auth.password");
            without.remove("lite.embedded.secret-file");
            Map<String, Object> other = new HashMap<>(without);
            other.put("lite.embedded.name", "other");
            other.put("lite.embedded.secret", "the secret of another cluster");

            assertThat(Throwables.getRootCause(catchThrowable(() -> applications.startEmbedded(without))))
                    .isInstanceOf(ClusterUnavailableException.class)
                    .hasMessageContaining("the cluster \"%s\" has a secret, and this process has none", cluster.name());
            assertThat(Throwables.getRootCause(catchThrowable(() -> applications.startEmbedded(other))))
                    .isInstanceOf(ClusterUnavailableException.class)
                    .hasMessageContaining("the secret of this process is not that of the cluster")
                    .hasMessageNotContaining("the secret of another cluster");

            without.put("lite.embedded.secret-file", cluster.secretFile());
            assertThat(applications.startEmbedded(without).nodes())
                    .extracting(NodeInfo::name)
                    .containsExactlyInAnyOrder("node-1", "without");
        }
    }

    private static Map<String, Object> properties(LocalCluster cluster, String name, String password) {
        Map<String, Object> properties = new HashMap<>();
        properties.put("lite.embedded.cluster", cluster.name());
        properties.put("lite.embedded.zookeeper", cluster.zookeeper());
        properties.put("lite.embedded.name", name);
        properties.put("lite.embedded.principal", "orders");
        properties.put("lite.embedded.arena-size", "16MB");
        properties.put("lite.embedded.deadline", Waits.seconds(10).toMillis() + "ms");
        properties.put("lite.embedded.auth.password", password);
        properties.put("lite.embedded.secret-file", cluster.secretFile());
        return properties;
    }
}
